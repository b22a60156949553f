//===- compile.cpp - Examples of the C++ reference ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/gpu.h>
#include <penstock/pack.h>
#include <penstock/penstock.h>
#include <vector>
using namespace penstock;

struct Scale {
  void operator()(Block &b, In<f32, 1> x, Scalar<f32> factor, Out<f32, 1> y) const {
    Index i = b.grid(ceil_div(x.size(0), 256)) * 256;
    auto t = b.local<f32>(256);
    b.copy(x.at(i), t);
    b.set(t, t * factor);
    b.copy(t, y.at(i));
  }
};

// example: compile, Target::native, view, KernelOf::KernelOf, KernelOf::operator()
void run_native() {
  std::vector<float> x(1000, 1.0f), y(1000);
  Kernel<Scale> scale = compile(Scale{}, Target::native());
  scale(view(x, {1000}), 2.0f, view(y, {1000})); // KernelOf<..>::operator()
}

// example: try_compile, Compiled::operator bool, to_text
bool report_errors() {
  Compiled<Scale> compiled = try_compile(Scale{}, Target::sm_90a());
  std::string errors = to_text(compiled.diagnostics); // bool(compiled): there is a kernel
  return bool(compiled);
}

// example: Target::sm_90a, Target::sm_100a, Target::sm_80, Target::sm_86, Target::sm_89,
// Target::sm_120a, Target::emulated, Target::interpreter
const Target targets[] = {Target::sm_90a(),
                          Target::sm_100a(),
                          Target::sm_80(),
                          Target::sm_86(),
                          Target::sm_89(),
                          Target::sm_120a(),
                          Target::sm_90a().emulated(),
                          Target::interpreter()};

// example: KernelOf::launch, KernelOf::try_launch
void with_options(const Kernel<Scale> &scale, TensorView<const float, 1> x,
                  TensorView<float, 1> y) {
  scale.launch({.threads = 1}, x, 2.0f, y); // throws Error
  std::vector<Diagnostic> errors = scale.try_launch({.print = [](std::string_view) {}}, x, 2.0f, y);
}

// example: KernelOf::tile_program, KernelOf::llvm_ir, KernelOf::assembly
std::string code_of(const Kernel<Scale> &scale) {
  return scale.tile_program() + scale.llvm_ir() + scale.assembly();
}

// example: KernelOf::ptx, KernelOf::artifact, KernelOf::prepare, gpu::Device::Device, load,
// try_load
void on_gpu() {
  Kernel<Scale> scale = compile(Scale{}, Target::sm_90a());
  std::string ptx = scale.ptx(), bytes = scale.artifact();
  scale.prepare(gpu::Device(0));                // loads it now
  Kernel<Scale> same = gpu::load<Scale>(bytes); // compiles nothing
  bool usable = bool(gpu::try_load<Scale>(bytes));
}

// example: gpu_names, find_gpu, cpu_names, find_cpu, host_cpu_names, cpu_caches
void list_targets() {
  for (const std::string &name : gpu_names())
    std::optional<Target> gpu = find_gpu(name);
  for (const std::string &name : cpu_names())
    std::optional<Cpu> level = find_cpu(name);
  std::vector<std::string> here_available = host_cpu_names();
  int64_t l2 = cpu_caches().l2;
}

// example: TensorView::TensorView
float matrix[4][8];
TensorView<float, 2> strided(matrix[0], {4, 4}, {8, 1}); // 4 x 4 elements in rows of 8
TensorView<const float, 2> reading = strided;

// example: gpu::Stream::Stream, gpu::Stream::handle, gpu::Stream::given, try_synchronize,
// synchronize
void on_stream(void *cuda_stream, const Kernel<Scale> &scale, TensorView<const float, 1> x,
               TensorView<float, 1> y) {
  gpu::Stream stream(cuda_stream); // a cudaStream_t: stream.handle()
  if (stream.given())
    scale.launch({.stream = stream}, x, 2.0f, y);
  std::vector<Diagnostic> faults = gpu::try_synchronize(stream);
  gpu::synchronize(); // throws Error
}

// example: count, current, gpu::Device::number, gpu::Device::name, gpu::Device::target,
// gpu::Device::peak_flops, gpu::Device::peak_bandwidth, gpu::Device::emulated
void describe_gpu() {
  if (gpu::count() == 0)
    return;
  gpu::Device device = gpu::current();
  int number = device.number();
  std::string name = device.name();
  Target target = device.target();
  double flops = device.peak_flops(), bandwidth = device.peak_bandwidth();
  bool emulated = device.emulated(); // its times mean nothing
}

// example: gpu::Memory::Memory, gpu::Memory::operator=, gpu::Memory::data, gpu::Memory::size,
// gpu::Memory::upload, gpu::Memory::download, elapsed_seconds, evict_l2
double time_on_gpu(const Kernel<Scale> &scale, std::vector<float> &x) {
  gpu::Memory<float> in(x.size()), out(0);
  out = gpu::Memory<float>(x.size());
  in.upload(x.data());
  gpu::evict_l2(nullptr);
  const int64_t n = int64_t(in.size());
  double seconds = gpu::elapsed_seconds(
      nullptr, [&] { scale(view(in.data(), {n}), 2.0f, view(out.data(), {n})); });
  out.download(x.data());
  return seconds;
}

// example: pack, packed_tile, Packed::Packed, Packed::view
void packed(std::vector<bf16> &weights) {
  auto kernel = [](Block &b, In<bf16, 2> A, In<bf16, 4> W, Out<f32, 2> C) {
    b.grid(1);
    auto As = b.shared<bf16>(64, 64);
    auto Ws = packed_tile<bf16>(b, 64, 64);
    auto acc = b.local<f32>(64, 64);
    b.copy(A.at(0, 0), As);
    b.copy(W.at(0, 0, 0, 0), Ws);
    b.gemm(As, Ws, acc, {.accumulate = false});
    b.copy(acc, C.at(0, 0));
  };
  Packed<bf16> W = pack(view(weights, {64, 64})); // once; W.view() is an argument
  auto argument = W.view();
}

// example: pack_for
void packed_bytes(std::vector<i8> &weights) {
  auto W = pack_for<bf16>(view(weights, {64, 64})); // i8, in the order of packed bf16
}
