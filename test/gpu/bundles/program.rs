extern "C" {
    fn cuInit(flags: u32) -> i32;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> i32;
    fn cuCtxSetCurrent(context: *mut c_void) -> i32;
    fn cuMemAlloc_v2(to: *mut u64, bytes: usize) -> i32;
    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> i32;
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> i32;
}

fn check(code: i32, why: &[u8]) {
    let end = why.iter().position(|&c| c == 0).unwrap_or(why.len());
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&why[..end]));
}

fn main() {
    const N: usize = 1500;
    let a: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let b = vec![0.25f32; N];
    let mut c = vec![0.0f32; N];
    let bytes = N * 4;
    let mut why = [0u8; 512];
    unsafe {
        let mut context = std::ptr::null_mut();
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        let mut memory = [0u64; 3];
        for (at, from) in memory.iter_mut().zip([&a, &b, &c]) {
            assert_eq!(cuMemAlloc_v2(at, bytes), 0);
            assert_eq!(cuMemcpyHtoD_v2(*at, from.as_ptr() as *const c_void, bytes), 0);
        }
        let n = N as i64;
        let mut args = AddArgs {
            a: Input1 { data: memory[0] as *const c_void, sizes: [n], strides: [1] },
            b: Input1 { data: memory[1] as *const c_void, sizes: [n], strides: [1] },
            c: Tensor1 { data: memory[2] as *mut c_void, sizes: [n], strides: [1] },
        };
        let null = std::ptr::null_mut();
        let mut add = std::ptr::null_mut();
        check(add_load(&mut add, why.as_mut_ptr(), why.len()), &why);
        check(add_launch(add, null, &args, why.as_mut_ptr(), why.len()), &why);
        check(add_synchronize(add, null, why.as_mut_ptr(), why.len()), &why);
        assert_eq!(cuMemcpyDtoH_v2(c.as_mut_ptr() as *mut c_void, memory[2], bytes), 0);
        args.b.sizes[0] = 7;
        assert_eq!(add_launch(add, null, &args, why.as_mut_ptr(), why.len()), 1302);
    }
    assert!((0..N).all(|i| c[i] == i as f32 + 0.25));
    println!("all sums are right");
}
