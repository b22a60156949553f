// penstock_c.h from Rust: opens a library, compiles, launches, reads an error.
use std::ffi::{c_char, c_int, c_void, CStr, CString};

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype_code: u8,
    dtype_bits: u8,
    dtype_lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}
#[repr(C)]
union Value {
    tensor: *const Tensor,
    integer: i64,
    real: f64,
}
#[repr(C)]
struct Argument {
    kind: c_int,
    value: Value,
}
#[repr(C)]
struct Diagnostic {
    severity: c_int,
    code: u32,
    message: *const c_char,
    file: *const c_char,
    line: u32,
    column: u32,
    notes: usize,
    helps: usize,
}

#[link(name = "penstock")]
extern "C" {
    fn penstock_c_version() -> u32;
    fn penstock_open(path: *const c_char, library: *mut *mut c_void, diagnostics: *mut *mut c_void) -> c_int;
    fn penstock_compile(
        library: *const c_void,
        kernel: *const c_char,
        options: *const c_void,
        result: *mut *mut c_void,
        diagnostics: *mut *mut c_void,
    ) -> c_int;
    fn penstock_launch(
        kernel: *const c_void,
        arguments: *const Argument,
        count: usize,
        options: *const c_void,
        diagnostics: *mut *mut c_void,
    ) -> c_int;
    fn penstock_diagnostics_get(diagnostics: *const c_void, index: usize) -> Diagnostic;
    fn penstock_diagnostics_free(diagnostics: *mut c_void);
    fn penstock_kernel_free(kernel: *mut c_void);
    fn penstock_library_free(library: *mut c_void);
}

fn tensor(data: &mut [f32], shape: &[i64; 1]) -> Tensor {
    Tensor {
        data: data.as_mut_ptr().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 1,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    }
}

fn main() {
    let path = CString::new(std::env::args().nth(1).expect("the library of the examples")).unwrap();
    let name = CString::new("VectorAdd").unwrap();
    let (mut library, mut kernel, mut found) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    let n = 3000usize;
    let mut data: Vec<Vec<f32>> = (0..3).map(|k| (0..n).map(|i| (i * (k + 1)) as f32).collect()).collect();
    unsafe {
        assert_eq!(penstock_c_version(), 3);
        assert_eq!(penstock_open(path.as_ptr(), &mut library, &mut found), 0);
        assert_eq!(penstock_compile(library, name.as_ptr(), std::ptr::null(), &mut kernel, &mut found), 0);
        let shape = [n as i64];
        let tensors: Vec<Tensor> = data.iter_mut().map(|d| tensor(d, &shape)).collect();
        let arguments: Vec<Argument> = tensors.iter().map(|t| Argument { kind: 0, value: Value { tensor: t } }).collect();
        assert_eq!(penstock_launch(kernel, arguments.as_ptr(), 3, std::ptr::null(), &mut found), 0);
        assert!((0..n).all(|i| data[2][i] == (3 * i) as f32));
        assert_eq!(penstock_launch(kernel, arguments.as_ptr(), 1, std::ptr::null(), &mut found), 1);
        let error = penstock_diagnostics_get(found, 0);
        assert_eq!(error.code, 1765);
        assert!(CStr::from_ptr(error.message).to_str().unwrap().contains("takes 3 arguments, not 1"));
        penstock_diagnostics_free(found);
        penstock_kernel_free(kernel);
        penstock_library_free(library);
    }
    println!("all sums are right");
}
