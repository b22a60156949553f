//===- Im2colTest.cpp - Tensor copies of images ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference is the definition of a convolution: for output pixel (n, d, h, w) and position
// (t, r, s) of the filter it reads pixel (n, d * stride - pad + t * dilation, ..), or zero. An
// im2col copy with the offsets of that position loads these pixels for consecutive outputs.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorMap.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Sizes along W, H, D; only the first `spatial` count.
struct Convolution {
  int spatial = 2;
  int images = 2, channels = 8;
  int size[3] = {7, 5, 1}, filter[3] = {3, 3, 1}, pad[3] = {1, 1, 0};
  int stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int pixels = 24; ///< of a copy

  int rank() const { return spatial + 2; }
  int outputs(int d) const {
    return (size[d] + 2 * pad[d] - dilation[d] * (filter[d] - 1) - 1) / stride[d] + 1;
  }
  int elements() const {
    int count = images * channels;
    for (int d = 0; d < spatial; ++d)
      count *= size[d];
    return count;
  }
  TensorMap map(uint64_t base) const {
    TensorMap map;
    map.dataType = 2; // u32
    map.rank = uint32_t(rank());
    map.base = base;
    map.dims[0] = uint64_t(channels);
    uint64_t stride0 = 4 * uint64_t(channels);
    for (int d = 0; d < spatial; ++d) {
      map.dims[d + 1] = uint64_t(size[d]);
      map.strides[d + 1] = stride0;
      stride0 *= uint64_t(size[d]);
      map.lower[d] = -pad[d];
      map.upper[d] = pad[d] - dilation[d] * (filter[d] - 1);
      map.elementStrides[d + 1] = uint32_t(stride[d]);
    }
    map.dims[rank() - 1] = uint64_t(images);
    map.strides[rank() - 1] = stride0;
    map.box[0] = 4;
    map.pixels = uint32_t(pixels);
    return map;
  }
  /// The pixel of output \p index at \p tap of the filter; -1: a zero.
  int pixel(int index, const int *tap) const {
    int at = 0, scale = 1;
    for (int d = 0; d < spatial; ++d) {
      int c = index % outputs(d) * stride[d] - pad[d] + tap[d] * dilation[d];
      index /= outputs(d);
      if (c < 0 || c >= size[d])
        return -1;
      at += c * scale;
      scale *= size[d];
    }
    return index < images ? at + index * scale : -1;
  }
  /// Coordinates of the copy that begins with output \p index.
  std::string coordinates(int index, int channel) const {
    std::string text = "{" + std::to_string(channel);
    for (int d = 0; d < spatial; ++d) {
      text += ", " + std::to_string(index % outputs(d) * stride[d] - pad[d]);
      index /= outputs(d);
    }
    return text + ", " + std::to_string(index) + "}";
  }
  std::string offsets(const int *tap) const {
    std::string text;
    for (int d = 0; d < spatial; ++d)
      text += (d ? ", " : "{") + std::to_string(tap[d] * dilation[d]);
    return text + "}";
  }
  std::string mode(const char *direction) const {
    return "cp.async.bulk.tensor." + std::to_string(rank()) + "d." + direction;
  }
};

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

const char *const waitForLoad =
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;\n";

/// Loads one column of pixels and writes it to p1.
std::string loadKernel(const Convolution &c, const std::string &coordinates,
                       const std::string &offsets) {
  return R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>; .reg .pred %p<4>;
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; setp.ne.u32 %p0, %t, 0;
@!%p0 mbarrier.init.shared.b64 [bar], 1;
bar.warp.sync -1;
ld.param.u64 %x1, [p0]; ld.param.u64 %x0, [p1];
@%p0 bra WAIT;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], )" +
         std::to_string(16 * c.pixels) + ";\n" +
         c.mode("shared::cluster.global.im2col.mbarrier::complete_tx::bytes") + " [tile], [%x1, " +
         coordinates + "], [bar], " + offsets + ";\n" + waitForLoad + R"(
mov.u32 %r1, %t;
LOOP: setp.ge.u32 %p2, %r1, )" +
         std::to_string(4 * c.pixels) + R"(; @%p2 bra DONE;
mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3;
ld.shared.u32 %r4, [%r3]; mad.wide.u32 %x2, %r1, 4, %x0; st.global.u32 [%x2], %r4;
add.u32 %r1, %r1, 32; bra LOOP;
DONE: ret;)";
}

/// A kernel with the map of \p map as p0 and \p outputBytes as p1.
struct ImageKernel : TestKernel {
  uint64_t image, out;
  ImageKernel(const std::string &body, const Convolution &c, TensorMap map, size_t outputBytes)
      : TestKernel(TestKernel::wrap(body, 2)) {
    std::vector<uint32_t> content(size_t(c.elements()));
    for (uint32_t i = 0; i < content.size(); ++i)
      content[i] = i + 1;
    image = device.memory.allocate(content.size() * 4, "image");
    device.write(image, content.data(), content.size() * 4);
    map.base = image;
    std::vector<uint8_t> bytes(tensorMapBytes);
    encodeTensorMap(map, bytes.data());
    buffer(bytes);
    out = emptyBuffer(outputBytes);
  }
};

void expectColumns(const Convolution &c) {
  EXPECT_EQ(checkTensorMap(c.map(4096)), "");
  int total = c.images;
  for (int d = 0; d < c.spatial; ++d)
    total *= c.outputs(d);
  const int taps[][3] = {{0, 0, 0}, {c.filter[0] - 1, c.filter[1] - 1, c.filter[2] - 1}, {1, 0, 0}};
  for (const auto &tap : taps)
    // The last column begins with the last pixel, so that the others are beyond the batch.
    for (int first : {0, 5, total / 2, total - 1}) {
      int channel = first % 2 * 4;
      ImageKernel kernel(loadKernel(c, c.coordinates(first, channel), c.offsets(tap)), c, c.map(0),
                         size_t(16 * c.pixels));
      Report report = kernel.run(1, 32);
      EXPECT_CLEAN(report);
      auto got = kernel.read<uint32_t>(kernel.out, size_t(4 * c.pixels));
      for (int row = 0; row < c.pixels; ++row) {
        int pixel = c.pixel(first + row, tap);
        for (int i = 0; i < 4; ++i)
          EXPECT_EQ(got[size_t(row * 4 + i)],
                    pixel < 0 ? 0u : uint32_t(pixel * c.channels + channel + i + 1))
              << "output " << first + row << " channel " << i;
      }
    }
}

TEST(Im2col, LoadsThePixelsOfAConvolution) {
  expectColumns({});
  Convolution strided;
  strided.stride[0] = 2;
  strided.stride[1] = 3;
  strided.size[0] = 9;
  strided.size[1] = 8;
  strided.dilation[0] = 2;
  expectColumns(strided);
  Convolution line;
  line.spatial = 1;
  line.size[0] = 11;
  line.filter[0] = 5;
  line.pad[0] = 3;
  expectColumns(line);
  Convolution volume;
  volume.spatial = 3;
  volume.size[0] = volume.size[1] = volume.size[2] = 4;
  volume.filter[2] = 2;
  volume.pad[2] = 1;
  volume.pixels = 60;
  expectColumns(volume);
}

TEST(Im2col, LoadIsAwaited) {
  Convolution c;
  const int tap[3] = {};
  std::string body = loadKernel(c, c.coordinates(0, 0), c.offsets(tap));
  std::string unawaited = replaced(body, waitForLoad, "WAIT:\n");
  ImageKernel kernel(unawaited, c, c.map(0), size_t(16 * c.pixels));
  EXPECT_FINDING(kernel.run(1, 32), EmuDataRace);
}

/// A filter of one pixel, whose columns are part of the image.
Convolution pointwise() {
  Convolution c;
  c.pad[0] = c.pad[1] = 0;
  c.filter[0] = c.filter[1] = 1;
  c.stride[0] = 2;
  c.pixels = 16;
  return c;
}

/// Writes 1000, 1001, .. to channels 4 to 7 of 16 pixels from output \p first on. \p copy: the
/// instruction and its modifiers.
std::string storeKernel(const Convolution &c, const std::string &copy, int first) {
  return R"(
.reg .b32 %t, %r<9>; .reg .b64 %x<4>; .reg .pred %p<4>;
.shared .align 1024 .b8 tile[256];
mov.u32 %t, %tid.x; setp.ne.u32 %p0, %t, 0;
ld.param.u64 %x1, [p0];
mov.u32 %r3, tile; mad.lo.u32 %r3, %t, 4, %r3; add.u32 %r4, %t, 1000;
st.shared.u32 [%r3], %r4; add.u32 %r4, %r4, 32; st.shared.u32 [%r3+128], %r4;
fence.proxy.async;
bar.warp.sync -1;
@%p0 ret;
)" + copy +
         " [%x1, " + c.coordinates(first, 4) + R"(], [tile];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;)";
}

/// Pixels of a column are stored where a load with offsets of zero finds them.
TEST(Im2col, StoresPixels) {
  Convolution c = pointwise();
  std::string body = storeKernel(c, c.mode("global.shared::cta.im2col_no_offs.bulk_group"), 3);
  ImageKernel kernel(body, c, c.map(0), 16);
  EXPECT_CLEAN(kernel.run(1, 32));
  std::vector<uint32_t> want(size_t(c.elements()));
  for (uint32_t i = 0; i < want.size(); ++i)
    want[i] = i + 1;
  const int tap[3] = {};
  for (int row = 0; row < c.pixels; ++row)
    for (int i = 0; i < 4; ++i)
      want[size_t(c.pixel(3 + row, tap) * c.channels + 4 + i)] = uint32_t(1000 + row * 4 + i);
  EXPECT_EQ(kernel.read<uint32_t>(kernel.image, want.size()), want);

  std::string unfenced = replaced(body, "fence.proxy.async;", "");
  ImageKernel twin(unfenced, c, c.map(0), 16);
  EXPECT_FINDING(twin.run(1, 32), EmuMissingProxyFence);
}

/// Reductions are applied to the pixels of the image; those beyond the batch are skipped.
TEST(Im2col, ReducesPixels) {
  struct Case {
    const char *operation;
    uint32_t (*apply)(uint32_t image, uint32_t value);
  };
  const Case cases[] = {
      {"add", [](uint32_t a, uint32_t b) { return a + b; }},
      {"max", [](uint32_t a, uint32_t b) { return a > b ? a : b; }},
      {"xor", [](uint32_t a, uint32_t b) { return a ^ b; }},
  };
  Convolution c = pointwise();
  const int tap[3] = {};
  for (const Case &each : cases) {
    constexpr int first = 30; // of 40 outputs
    std::string copy = "cp.reduce.async.bulk.tensor.4d.global.shared::cta." +
                       std::string(each.operation) + ".im2col_no_offs.bulk_group";
    ImageKernel kernel(storeKernel(c, copy, first), c, c.map(0), 16);
    EXPECT_CLEAN(kernel.run(1, 32));
    std::vector<uint32_t> want(size_t(c.elements()));
    for (uint32_t i = 0; i < want.size(); ++i)
      want[i] = i + 1;
    int skipped = 0;
    for (int row = 0; row < c.pixels; ++row) {
      int pixel = c.pixel(first + row, tap);
      skipped += pixel < 0;
      for (int i = 0; i < 4 && pixel >= 0; ++i) {
        uint32_t &element = want[size_t(pixel * c.channels + 4 + i)];
        element = each.apply(element, uint32_t(1000 + row * 4 + i));
      }
    }
    EXPECT_EQ(skipped, 6);
    EXPECT_EQ(kernel.read<uint32_t>(kernel.image, want.size()), want) << each.operation;
  }
}

/// Loads pixels from block 0 into both blocks of a cluster; each writes what it has to p1.
/// \p mask: the blocks of the copy.
std::string multicastKernel(const Convolution &c, int first, const int *tap, int mask) {
  return R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>; .reg .pred %p<4>; .reg .b16 %m;
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; setp.ne.u32 %p0, %t, 0; mov.u32 %r0, %cluster_ctarank;
@%p0 bra READY;
mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], )" +
         std::to_string(16 * c.pixels) + R"(;
READY: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
ld.param.u64 %x1, [p0]; ld.param.u64 %x0, [p1];
or.b32 %r5, %r0, %t; setp.ne.u32 %p3, %r5, 0; mov.b16 %m, )" +
         std::to_string(mask) + ";\n@%p3 bra WAIT;\n" +
         c.mode("shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster") +
         " [tile], [%x1, " + c.coordinates(first, 0) + "], [bar], " + c.offsets(tap) + ", %m;\n" +
         waitForLoad + R"(
mov.u32 %r1, %t; mul.lo.u32 %r6, %r0, )" +
         std::to_string(4 * c.pixels) + R"(;
LOOP: setp.ge.u32 %p2, %r1, )" +
         std::to_string(4 * c.pixels) + R"(; @%p2 bra DONE;
mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3; ld.shared.u32 %r4, [%r3];
add.u32 %r7, %r1, %r6; mad.wide.u32 %x2, %r7, 4, %x0; st.global.u32 [%x2], %r4;
add.u32 %r1, %r1, 32; bra LOOP;
DONE: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;)";
}

TEST(Im2col, MulticastReachesAllBlocks) {
  Convolution c;
  const int tap[3] = {2, 1, 0};
  LaunchConfig config;
  config.grid = config.cluster = {2, 1, 1};
  config.block = {32, 1, 1};
  auto elements = size_t(4 * c.pixels);
  ImageKernel kernel(multicastKernel(c, 5, tap, 3), c, c.map(0), 2 * 4 * elements);
  EXPECT_CLEAN(kernel.run(config));
  auto got = kernel.read<uint32_t>(kernel.out, 2 * elements);
  for (size_t i = 0; i < got.size(); ++i) {
    int pixel = c.pixel(5 + int(i % elements / 4), tap);
    EXPECT_EQ(got[i], pixel < 0 ? 0u : uint32_t(pixel * c.channels) + uint32_t(i % 4) + 1) << i;
  }
  // Block 1 waits for a copy that it is not part of.
  ImageKernel alone(multicastKernel(c, 5, tap, 1), c, c.map(0), 2 * 4 * elements);
  EXPECT_FINDING(alone.run(config), EmuDeadlock);
}

TEST(Im2col, PrefetchesAreCheckedAndChangeNothing) {
  Convolution c;
  auto run = [&](const std::string &coordinates, const std::string &offsets, TensorMap map) {
    ImageKernel kernel(R"(.reg .b64 %x1; ld.param.u64 %x1, [p0];
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%x1, )" +
                           coordinates + "], " + offsets + "; ret;",
                       c, map, 16);
    Report report = kernel.run(1, 1);
    auto image = kernel.read<uint32_t>(kernel.image, size_t(c.elements()));
    for (uint32_t i = 0; i < image.size(); ++i)
      EXPECT_EQ(image[i], i + 1);
    return report;
  };
  EXPECT_CLEAN(run(c.coordinates(5, 4), "{2, 2}", c.map(0)));
  EXPECT_FINDING(run("{0, -2, 0, 0}", "{0, 0}", c.map(0)), EmuTensorMap);
  EXPECT_FINDING(run(c.coordinates(0, 0), "{0, 256}", c.map(0)), EmuTensorMap);
  TensorMap tiled = c.map(0);
  tiled.pixels = 0;
  EXPECT_FINDING(run(c.coordinates(0, 0), "{0, 0}", tiled), EmuTensorMap);
}

TEST(Im2col, IllegalCopies) {
  Convolution c;
  const int tap[3] = {};
  auto finding = [&](const TensorMap &map, const std::string &coordinates,
                     const std::string &offsets) {
    ImageKernel kernel(loadKernel(c, coordinates, offsets), c, map, size_t(16 * c.pixels));
    Report report = kernel.run(1, 32);
    EXPECT_FINDING(report, EmuTensorMap);
    return text(report);
  };
  std::string first = c.coordinates(0, 0);
  TensorMap tiled = c.map(0);
  tiled.pixels = 0;
  EXPECT_NE(finding(tiled, first, c.offsets(tap)).find("cuTensorMapEncodeIm2col"),
            std::string::npos);
  EXPECT_NE(finding(c.map(0), first, "{0, 256}").find("must be below 256"), std::string::npos);
  // The base of the filter: the box is -1 to 5 along W.
  EXPECT_NE(finding(c.map(0), "{0, -2, 0, 0}", "{0, 0}").find("outside of the bounding box"),
            std::string::npos);
  EXPECT_NE(finding(c.map(0), "{0, 6, 0, 0}", "{0, 0}").find("outside of the bounding box"),
            std::string::npos);
}

TEST(Im2col, RulesOfTheDriver) {
  auto problem = [](auto &&change) {
    TensorMap map = Convolution().map(4096);
    change(map);
    return checkTensorMap(map);
  };
  EXPECT_EQ(problem([](TensorMap &) {}), "");
  EXPECT_NE(problem([](TensorMap &m) { m.rank = 2; }), "");
  EXPECT_NE(problem([](TensorMap &m) { m.pixels = 1025; }), "");
  EXPECT_NE(problem([](TensorMap &m) { m.box[0] = 257; }), "");
  EXPECT_NE(problem([](TensorMap &m) { m.lower[0] = -129; }), ""); // 4D: 8 bits
  EXPECT_NE(problem([](TensorMap &m) { m.upper[1] = 128; }), "");
  EXPECT_NE(problem([](TensorMap &m) { m.upper[1] = -7; }), ""); // an empty box
  uint8_t bytes[tensorMapBytes];
  TensorMap map = Convolution().map(4096), again;
  encodeTensorMap(map, bytes);
  ASSERT_TRUE(decodeTensorMap(bytes, again));
  EXPECT_EQ(again.pixels, 24u);
  EXPECT_EQ(again.lower[1], -1);
  EXPECT_EQ(again.upper[0], -1);
}

} // namespace
