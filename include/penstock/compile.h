//===- compile.h - Compiling and launching kernels --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILE_H
#define PENSTOCK_COMPILE_H

#include "penstock/block.h"
#include "penstock/diagnostics.h"
#include "penstock/launch.h"
#include "penstock/view.h"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace penstock {

namespace gpu {
class Device; // penstock/gpu.h
} // namespace gpu
class KernelCache; // penstock/cache.h

/// Compilation target.
class Target {
public:
  enum class Kind : uint8_t { Native, Interpreter, Sm90a, Sm100a, Sm80, Sm86, Sm89, Sm120a };
  /// The host CPU with its vector extensions.
  static Target native() { return {Kind::Native}; }
  /// Reference interpreter of tile programs. Slow; all back ends are tested against it.
  static Target interpreter() { return {Kind::Interpreter}; }
  /// NVIDIA Hopper: H100.
  static Target sm_90a() { return {Kind::Sm90a}; }
  /// NVIDIA Blackwell: B200.
  static Target sm_100a() { return {Kind::Sm100a}; }
  /// NVIDIA Ampere: A100.
  static Target sm_80() { return {Kind::Sm80}; }
  /// NVIDIA Ampere: RTX 30.
  static Target sm_86() { return {Kind::Sm86}; }
  /// NVIDIA Ada: RTX 40.
  static Target sm_89() { return {Kind::Sm89}; }
  /// NVIDIA Blackwell, consumer GPUs: RTX 50.
  static Target sm_120a() { return {Kind::Sm120a}; }
  /// Runs GPU kernels on the emulator, with all of its checks.
  Target emulated() const { return {kind, true}; }

  Kind kind;
  bool onEmulator = false;
};

/// Names of all GPU targets, e.g. "sm_90a".
PENSTOCK_EXPORT std::vector<std::string> gpu_names();
/// GPU target of this name; no value if there is none.
PENSTOCK_EXPORT std::optional<Target> find_gpu(std::string_view name);

/// Instruction set of native code (docs/how-to/cpu.md). Each level includes the levels below it.
/// Levels other than `Host` and `Amx` select the same instructions on every processor.
enum class Cpu : uint8_t {
  Host,       ///< the best that the processor has and the process may use
  Amx,        ///< tile instructions, with all other extensions of the host
  Avx512Fp16, ///< + AVX512-FP16
  Avx512Bf16, ///< + AVX512-BF16
  Avx512Vnni, ///< + AVX512-VNNI
  Avx512,     ///< AVX-512 F, BW, CD, DQ and VL
  Avx2        ///< AVX2, FMA and F16C
};

/// Names of all levels but `Host`, highest first: "amx", "avx512fp16", .., "avx2".
PENSTOCK_EXPORT std::vector<std::string> cpu_names();
/// Level of this name, also "host"; no value if there is none.
PENSTOCK_EXPORT std::optional<Cpu> find_cpu(std::string_view name);
/// Names of the levels that native code can use in this process, highest first.
PENSTOCK_EXPORT std::vector<std::string> host_cpu_names();

/// L1 data cache and L2 cache of a core, in bytes.
struct CpuCaches {
  int64_t l1 = 0, l2 = 0;
};
/// Returns the cache sizes for which native code of a level is blocked. `Host` and `Amx` use those
/// of the host. Other levels have the same code on every processor: 32 KB and 1 MB with AVX-512,
/// 32 KB and 256 KB with AVX2. The environment variable PENSTOCK_CACHES (`32K,1M`) overrides all.
PENSTOCK_EXPORT CpuCaches cpu_caches(Cpu level = Cpu::Host);

struct CompileOptions {
  /// Sizes of the signature to treat as constants, e.g. {{"N", 8192}}. Launches check
  /// them.
  std::vector<std::pair<std::string, int64_t>> fix = {};
  /// Name of the kernel in messages and artifacts; default: the name of its type.
  std::string name = {};
  /// Supports late completion of asynchronous operations (see Completion), at some cost in
  /// speed.
  bool late_completion = false;
  /// Checks the barriers of GPU kernels at compile time. Otherwise only the emulator finds
  /// such errors.
  bool check_barriers = true;
  /// Allows `x * y + z` to be computed with one rounding, which is faster; results then
  /// differ between targets in their last bits (docs/reference/numerics.md).
  bool contract = false;
  /// Restricts native code to an instruction set; an error if the host does not have it.
  Cpu cpu = Cpu::Host;
  /// Cache of compiled kernels. Default: KernelCache::process(), in the user's cache directory;
  /// with &KernelCache::none(), every call compiles.
  KernelCache *cache = nullptr;
};

namespace detail {

struct ArgumentSpec {
  bool tensor = false;
  Element element = Element::f32;
  int rank = 0;
  Access access = Access::In;
};

/// Type-erased kernel.
struct KernelSource {
  std::string name;
  std::string signature;
  std::string flops; ///< FLOPs of a launch, as a formula of the signature's sizes: "2*M*N*K"
  std::vector<ArgumentSpec> arguments;
  Callback<Block &, Refs> record;
  Loc at;
};

class Executable;
/// Shared pointer to an Executable. <memory> alone would take a quarter of the time to
/// compile these headers.
class PENSTOCK_EXPORT ExecutableRef {
public:
  ExecutableRef() = default;
  explicit ExecutableRef(Executable *);
  ExecutableRef(const ExecutableRef &);
  ExecutableRef(ExecutableRef &&other) noexcept
      : executable(std::exchange(other.executable, nullptr)) {}
  ExecutableRef &operator=(ExecutableRef other) noexcept {
    std::swap(executable, other.executable);
    return *this;
  }
  ~ExecutableRef();

  Executable *get() const { return executable; }
  Executable &operator*() const { return *executable; }
  Executable *operator->() const { return executable; }
  explicit operator bool() const { return executable != nullptr; }

private:
  Executable *executable = nullptr;
};

struct CompileResult {
  ExecutableRef executable; ///< empty if there are errors
  std::vector<Diagnostic> diagnostics;
};
PENSTOCK_EXPORT CompileResult compile(const KernelSource &, Target, const CompileOptions &);
PENSTOCK_EXPORT std::vector<Diagnostic> launch(Executable *, List<const Argument>,
                                               const LaunchOptions &, Loc at);
PENSTOCK_EXPORT std::vector<Diagnostic> prepare(Executable *, const gpu::Device &, Loc at);
enum class Form : uint8_t { Tile, LLVM, Assembly, Ptx, Artifact };
PENSTOCK_EXPORT std::string text(Executable *, Form);

/// Maps arguments of a kernel function to arguments of a launch.
template <class A> struct ArgumentTraits; // a kernel takes tensors and Scalar<T>
template <class A> inline constexpr bool isArgument = false;
template <class T, int R> inline constexpr bool isArgument<In<T, R>> = true;
template <class T, int R> inline constexpr bool isArgument<Out<T, R>> = true;
template <class T, int R> inline constexpr bool isArgument<InOut<T, R>> = true;
template <class T> inline constexpr bool isArgument<Scalar<T>> = true;
template <class T, int R, Access A> struct TensorTraits {
  static_assert(size_t(R) <= Extents::capacity, "tensors of a kernel have at most 8 dimensions");
  using Host = TensorView<std::conditional_t<A == Access::In, const T, T>, R>;
  static ArgumentSpec spec() { return {true, ElementOf<T>::value, R, A}; }
  static Argument pack(const Host &view) {
    Argument argument;
    argument.tensor = true;
    argument.onGpu = view.on_gpu;
    argument.element = ElementOf<T>::value;
    argument.data = const_cast<void *>(static_cast<const void *>(view.data));
    argument.sizes.assign(view.sizes.begin(), view.sizes.end());
    argument.strides.assign(view.strides.begin(), view.strides.end());
    return argument;
  }
};
template <class T, int R> struct ArgumentTraits<In<T, R>> : TensorTraits<T, R, Access::In> {};
template <class T, int R> struct ArgumentTraits<Out<T, R>> : TensorTraits<T, R, Access::Out> {};
template <class T, int R> struct ArgumentTraits<InOut<T, R>> : TensorTraits<T, R, Access::InOut> {};
template <class T> struct ArgumentTraits<Scalar<T>> {
  using Host = std::conditional_t<std::is_same_v<T, index_t>, int64_t, T>;
  static ArgumentSpec spec() { return {false, ElementOf<T>::value, 0, Access::In}; }
  static Argument pack(Host value) {
    Argument argument;
    argument.element = ElementOf<T>::value;
    std::memcpy(&argument.scalar, &value, sizeof value);
    return argument;
  }
};

/// Kernel property of a type, or the reason why it is not a kernel.
enum class KernelForm { Kernel, TakesBlockByValue, TakesOtherTypes, NotAKernel };

template <class F> struct CallTraits {
  static constexpr KernelForm form = KernelForm::NotAKernel;
  using Arguments = std::tuple<>;
};
template <class... A> struct KernelTraits {
  static constexpr KernelForm form = (isArgument<std::remove_cvref_t<A>> && ...)
                                         ? KernelForm::Kernel
                                         : KernelForm::TakesOtherTypes;
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};
struct BlockByValue {
  static constexpr KernelForm form = KernelForm::TakesBlockByValue;
  using Arguments = std::tuple<>;
};
template <class C, class... A>
struct CallTraits<void (C::*)(Block &, A...) const> : KernelTraits<A...> {};
template <class C, class... A>
struct CallTraits<void (C::*)(Block &, A...)> : KernelTraits<A...> {};
template <class C, class R, class... A>
struct CallTraits<R (C::*)(Block, A...) const> : BlockByValue {};
template <class C, class R, class... A> struct CallTraits<R (C::*)(Block, A...)> : BlockByValue {};

template <class F> struct FunctionTraits : CallTraits<void> {};
template <class F>
  requires requires { &F::operator(); }
struct FunctionTraits<F> : CallTraits<decltype(&F::operator())> {};
template <class K> inline constexpr KernelForm formOf = FunctionTraits<K>::form;

struct NoKernel {};

#define PENSTOCK_KERNEL_FORM                                                                       \
  "a kernel is a struct or a lambda with one call operator, `void operator()(Block &b, ..) const`"
#define PENSTOCK_BLOCK_FORM                                                                        \
  "a kernel takes its block by reference: the first parameter is `Block &b`"
#define PENSTOCK_PARAMETER_FORM                                                                    \
  "a kernel takes tensors (`In<T, rank>`, `Out`, `InOut`) and scalars (`Scalar<T>`, `Index`) "     \
  "after "                                                                                         \
  "its `Block &b`; what is known at compile time is a field of the kernel"

/// Kernel name for a compiler's spelling of its type.
PENSTOCK_EXPORT std::string kernelNameOf(std::string_view type);

/// Kernel name for type K, from __PRETTY_FUNCTION__.
template <class K> std::string typeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  size_t begin = text.find("K = ");
  if (begin == std::string_view::npos)
    return "kernel";
  text.remove_prefix(begin + 4);
  return kernelNameOf(text.substr(0, text.find_first_of("];")));
}

template <class K> std::string signatureOf(const K &) {
  if constexpr (requires { std::string(K::signature); })
    return K::signature;
  else
    return "";
}

template <class K> std::string flopsOf(const K &) {
  if constexpr (requires { std::string(K::flops); })
    return K::flops;
  else
    return "";
}

template <class K, class... A, size_t... I>
void call(K &kernel, Block &block, Refs refs, std::tuple<A...> *, std::index_sequence<I...>) {
  kernel(block, A(refs[I])...);
}

template <class K, class... A>
KernelSource sourceOf(K kernel, std::string name, std::tuple<A...> *, Loc at) {
  KernelSource source;
  source.name = std::move(name);
  source.signature = signatureOf(kernel);
  source.flops = flopsOf(kernel);
  source.arguments = {ArgumentTraits<A>::spec()...};
  source.at = at;
  source.record = [kernel](Block &block, Refs refs) mutable {
    call(kernel, block, refs, static_cast<std::tuple<A...> *>(nullptr),
         std::index_sequence_for<A...>());
  };
  return source;
}

} // namespace detail

template <class Arguments> class KernelOf;

/// Compiled kernel. Call it with one view or value per argument of the kernel function.
/// Copies share the code. Calls are thread-safe.
template <class... A> class KernelOf<std::tuple<A...>> {
public:
  /// No kernel; assign the result of compile() before a launch.
  KernelOf() = default;
  explicit KernelOf(detail::ExecutableRef code) : executable(std::move(code)) {}

  /// Runs the kernel to completion. Throws Error if the launch is invalid or the kernel
  /// faults.
  void operator()(typename detail::ArgumentTraits<A>::Host... arguments, Loc at = here()) const {
    launch({}, arguments..., at);
  }
  /// Runs the kernel with options, e.g. a stream. Throws Error like a call.
  void launch(const LaunchOptions &options, typename detail::ArgumentTraits<A>::Host... arguments,
              Loc at = here()) const {
    auto diagnostics = try_launch(options, arguments..., at);
    if (!diagnostics.empty())
      detail::raise(std::move(diagnostics));
  }
  /// Runs the kernel and returns errors; empty on success.
  std::vector<Diagnostic> try_launch(const LaunchOptions &options,
                                     typename detail::ArgumentTraits<A>::Host... arguments,
                                     Loc at = here()) const {
    std::array<detail::Argument, sizeof...(A)> packed{
        detail::ArgumentTraits<A>::pack(arguments)...};
    return detail::launch(executable.get(), packed, options, at);
  }

  /// Returns the tile program.
  std::string tile_program() const { return detail::text(executable.get(), detail::Form::Tile); }
  /// Returns the LLVM IR of native code.
  std::string llvm_ir() const { return detail::text(executable.get(), detail::Form::LLVM); }
  /// Returns the assembly of native code.
  std::string assembly() const { return detail::text(executable.get(), detail::Form::Assembly); }

  /// PTX of a GPU kernel.
  std::string ptx() const { return detail::text(executable.get(), detail::Form::Ptx); }

  /// A GPU kernel as bytes: PTX, launch program and tensor maps of all variants.
  std::string artifact() const { return detail::text(executable.get(), detail::Form::Artifact); }

  /// Loads the kernel on a GPU, which the first launch does otherwise. Throws Error.
  void prepare(const gpu::Device &device, Loc at = here()) const {
    auto diagnostics = detail::prepare(executable.get(), device, at);
    if (!diagnostics.empty())
      detail::raise(std::move(diagnostics));
  }

  detail::ExecutableRef executable;
};

template <class K> using Kernel = KernelOf<typename detail::FunctionTraits<K>::Arguments>;

/// Result of try_compile: a kernel, or errors.
template <class K> struct Compiled {
  Kernel<K> kernel;
  std::vector<Diagnostic> diagnostics;
  /// Returns whether there is a kernel.
  explicit operator bool() const { return bool(kernel.executable); }
};

/// Like compile, but returns errors instead of throwing them.
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::Kernel)
Compiled<K> try_compile(K kernel, Target target, CompileOptions options = {}, Loc at = here()) {
  using Arguments = typename detail::FunctionTraits<K>::Arguments;
  auto source = detail::sourceOf(std::move(kernel),
                                 options.name.empty() ? detail::typeName<K>() : options.name,
                                 static_cast<Arguments *>(nullptr), at);
  auto result = detail::compile(source, target, options);
  return {Kernel<K>(std::move(result.executable)), std::move(result.diagnostics)};
}

/// Compiles a kernel: a struct or lambda whose call operator takes a Block and typed
/// arguments. Throws Error with all diagnostics.
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::Kernel)
Kernel<K> compile(K kernel, Target target, CompileOptions options = {}, Loc at = here()) {
  Compiled<K> result = try_compile(std::move(kernel), target, std::move(options), at);
  if (!result)
    detail::raise(std::move(result.diagnostics));
  return std::move(result.kernel);
}

// Errors at the line of the call for types that are not kernels.
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::TakesBlockByValue)
PENSTOCK_MISUSE(PENSTOCK_BLOCK_FORM)
detail::NoKernel compile(const K &, Target, CompileOptions = {}, Loc = here());
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::TakesBlockByValue)
PENSTOCK_MISUSE(PENSTOCK_BLOCK_FORM)
detail::NoKernel try_compile(const K &, Target, CompileOptions = {}, Loc = here());
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::TakesOtherTypes)
PENSTOCK_MISUSE(PENSTOCK_PARAMETER_FORM)
detail::NoKernel compile(const K &, Target, CompileOptions = {}, Loc = here());
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::TakesOtherTypes)
PENSTOCK_MISUSE(PENSTOCK_PARAMETER_FORM)
detail::NoKernel try_compile(const K &, Target, CompileOptions = {}, Loc = here());
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::NotAKernel)
PENSTOCK_MISUSE(PENSTOCK_KERNEL_FORM)
detail::NoKernel compile(const K &, Target, CompileOptions = {}, Loc = here());
template <class K>
  requires(detail::formOf<K> == detail::KernelForm::NotAKernel)
PENSTOCK_MISUSE(PENSTOCK_KERNEL_FORM)
detail::NoKernel try_compile(const K &, Target, CompileOptions = {}, Loc = here());

} // namespace penstock

#endif // PENSTOCK_COMPILE_H
