//===- Tcgen05Kernels.cpp - Self-test: tcgen05 ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D = A * B^T with 128 rows and 16 columns, k in steps of 64. Warps 0 to 3 take
// the result out of tensor memory, warp 4 allocates and multiplies, warp 5
// loads. The kernels differ in how operands arrive, which warps do what, how
// slots are given back, whether the accumulator is doubled, where A comes from
// and how the result leaves.
//
//===----------------------------------------------------------------------===//
#include "selftest/Matrix.h"

namespace penstock::emu::selftest {
namespace {

constexpr unsigned race = EmuDataRace, deadlock = EmuDeadlock;

enum class Source { TmaRing, BulkRing, Stores, CpAsync };

struct Variant {
  const char *name;
  Source source;
  unsigned stages = 2;
  bool oneWarp = false; ///< warp 4 loads and multiplies
  bool perStep = false; ///< a done barrier for every iteration
  bool tensorA = false; ///< A goes through tensor memory
  bool tmaStore = false;
  unsigned tiles = 1;   ///< products one after the other
  unsigned buffers = 1; ///< accumulators
  unsigned shape = 0;   ///< how the result is loaded
  bool polls = false;
  bool relaxed = false; ///< hand-overs are relaxed, tcgen05.fence orders them
};

constexpr Variant variants[] = {
    {"tcgen05-ring", Source::TmaRing},
    {"tcgen05-ring-polls", Source::TmaRing, 3, false, false, false, false, 1, 1, 0, true},
    {"tcgen05-ring-one-warp", Source::TmaRing, 2, true},
    {"tcgen05-ring-per-step", Source::TmaRing, 3, false, true},
    {"tcgen05-ring-tma-store", Source::TmaRing, 4, false, false, false, true},
    {"tcgen05-ring-16x256b", Source::TmaRing, 2, false, false, false, false, 1, 1, 1},
    {"tcgen05-ring-tiles", Source::TmaRing, 2, false, false, false, false, 3, 1},
    {"tcgen05-ring-tiles-doubled", Source::TmaRing, 3, false, false, false, false, 4, 2},
    {"tcgen05-ring-tiles-doubled-store", Source::TmaRing, 2, false, false, false, true, 3, 2},
    {"tcgen05-ring-relaxed", Source::TmaRing, 2, false, false, false, false, 1, 1, 0, false, true},
    {"tcgen05-ring-tiles-relaxed", Source::TmaRing, 2, false, false, false, false, 3, 1, 0, false,
     true},
    {"tcgen05-ring-tiles-one-warp", Source::TmaRing, 3, true, false, false, false, 3, 1},
    {"tcgen05-bulk-ring", Source::BulkRing},
    {"tcgen05-bulk-ring-one-warp", Source::BulkRing, 3, true},
    {"tcgen05-bulk-ring-tiles", Source::BulkRing, 2, false, false, false, false, 4, 2},
    {"tcgen05-stores", Source::Stores, 1},
    {"tcgen05-stores-tma-store", Source::Stores, 1, false, false, false, true},
    {"tcgen05-cp-async", Source::CpAsync, 1},
    {"tcgen05-tensor-a", Source::Stores, 1, false, false, true},
    {"tcgen05-tensor-a-cp-async", Source::CpAsync, 1, false, false, true},
};

constexpr unsigned rows = 128, columns = 16;

class Writer {
public:
  explicit Writer(const Variant &v)
      : v(v), tiles{rows, columns, v.source == Source::TmaRing},
        ring(v.source == Source::TmaRing || v.source == Source::BulkRing) {}

  Kernel make();

private:
  void begin();
  void produce();
  void multiply();
  void multiplySteps(const std::string &tile);
  void inner(const std::string &at, const std::string &i, const std::string &accumulator);
  void epilogue();
  void oneShot();
  void storeResult(const std::string &tile, const std::string &accumulator);
  void addTwins(Kernel &kernel);
  Builder::Wait how() const { return v.polls ? Builder::Wait::Test : Builder::Wait::Try; }
  /// For barriers that order tensor memory alone.
  Builder::Wait handOver() const { return v.relaxed ? Builder::Wait::Relaxed : how(); }

  const Variant &v;
  Builder b;
  Tiles tiles;
  bool ring;
  std::string tid, warp, n, base, full, empty, done, drained, tensor;
};

void Writer::begin() {
  unsigned slotBytes = tiles.bytes();
  b.shared("ring", v.stages * slotBytes, 1024);
  if (v.tmaStore)
    b.shared("result", rows * columns * 4, 1024);
  b.shared("full", v.stages * 8, 8);
  b.shared("empty", v.stages * 8, 8);
  b.shared("done", 16, 8);
  b.shared("drained", 16, 8);
  b.shared("stepped", 8, 8);
  b.shared("tensor", 4, 4);
  tid = b.mov("%tid.x");
  warp = b.r32();
  b.op("shr.u32 " + warp + ", " + tid + ", 5");
  n = b.r32();
  b.op("ld.param.u32 " + n + ", [count]");
  base = b.mov("ring");
  full = b.mov("full");
  empty = b.mov("empty");
  done = b.mov("done");
  drained = b.mov("drained");
  b.when(b.compare("eq", tid, "0"), [&] {
    for (unsigned s = 0; s < v.stages; ++s) {
      std::string at = "+" + std::to_string(8 * s);
      b.op("mbarrier.init.shared::cta.b64 [" + full + at + "], 1", s ? "" : "init-full");
      b.op("mbarrier.init.shared::cta.b64 [" + empty + at + "], 1", s ? "" : "init-empty");
    }
    for (unsigned s = 0; s < v.buffers; ++s) {
      std::string at = "+" + std::to_string(8 * s);
      b.op("mbarrier.init.shared::cta.b64 [" + done + at + "], 1", s ? "" : "init-done");
      b.op("mbarrier.init.shared::cta.b64 [" + drained + at + "], 128", s ? "" : "init-drained");
    }
    b.op("mbarrier.init.shared::cta.b64 [stepped], 1");
    b.op("fence.mbarrier_init.release.cluster");
  });
  b.when(b.compare("eq", warp, "4"), [&] {
    b.op("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tensor], 64", "alloc");
    b.op("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned");
  });
  b.op("tcgen05.fence::before_thread_sync");
  b.op("bar.sync 0", "publish");
  b.op("tcgen05.fence::after_thread_sync");
  tensor = b.r32();
  b.op("ld.shared.u32 " + tensor + ", [tensor]", "address");
}

/// Fills the ring for all steps of all tiles; runs on one thread.
void Writer::produce() {
  std::string total = b.mad(n, std::to_string(v.tiles), "0");
  b.loop(total, [&](const std::string &i) {
    std::string slot, phase;
    position(b, i, v.stages, slot, phase, "");
    std::string flipped = b.r32(), step = b.r32();
    b.op("xor.b32 " + flipped + ", " + phase + ", 1", "producer-phase");
    b.wait(b.mad(slot, "8", empty), flipped, "wait-empty", how());
    b.op("rem.u32 " + step + ", " + i + ", " + n); // every tile is the same
    tiles.load(b, v.source == Source::BulkRing, step,
               b.mad(slot, std::to_string(tiles.bytes()), base), b.mad(slot, "8", full));
  });
}

void Writer::inner(const std::string &at, const std::string &i, const std::string &accumulator) {
  std::string p = b.pred();
  std::string instruction = std::to_string(1u << 4 | columns / 8 << 17 | rows / 16 << 24);
  for (unsigned kk = 0; kk < 4; ++kk) {
    if (kk == 0)
      b.op("setp.ne.u32 " + p + ", " + i + ", 0");
    else if (kk == 1)
      b.op("setp.eq.u32 " + p + ", 0, 0");
    std::string a;
    if (v.tensorA)
      a = "[" + b.add(tensor, std::to_string(32 + kk * 8)) + "]";
    else
      a = tiles.descriptor(b, at, kk, true);
    std::string atB = b.add(at, std::to_string(tiles.bytesA()));
    std::string id = b.mov(instruction);
    b.op("tcgen05.mma.cta_group::1.kind::f16 [" + accumulator + "], " + a + ", " +
             tiles.descriptor(b, atB, kk, true) + ", " + id + ", " + p,
         kk ? "mma" + std::to_string(kk) : "mma");
  }
}

void Writer::multiplySteps(const std::string &tile) {
  std::string accumulator = tensor;
  std::string buffer, turn;
  if (v.tiles > 1) {
    position(b, tile, v.buffers, buffer, turn, "");
    accumulator = b.mad(buffer, std::to_string(columns), tensor);
    std::string flipped = b.r32();
    b.op("xor.b32 " + flipped + ", " + turn + ", 1", "drained-phase");
    b.wait(b.mad(buffer, "8", drained), flipped, "wait-drained", handOver());
    b.op("tcgen05.fence::after_thread_sync", "fence-drained");
  }
  std::string before = v.tiles > 1 ? b.mad(tile, n, "0") : "";
  b.loop(n, [&](const std::string &i) {
    std::string step = v.tiles > 1 ? b.add(before, i) : i;
    std::string slot, phase;
    position(b, step, v.stages, slot, phase, "consumer-phase");
    if (v.oneWarp) {
      // The thread that multiplies keeps the ring full itself.
      std::string total = b.mad(n, std::to_string(v.tiles), "0");
      std::string next = b.add(step, std::to_string(v.stages - 1));
      b.when(b.compare("lt", next, total), [&] {
        std::string s, p, flipped = b.r32(), k = b.r32();
        position(b, next, v.stages, s, p, "");
        b.op("xor.b32 " + flipped + ", " + p + ", 1", "producer-phase");
        b.wait(b.mad(s, "8", empty), flipped, "wait-empty", how());
        b.op("rem.u32 " + k + ", " + next + ", " + n);
        tiles.load(b, v.source == Source::BulkRing, k,
                   b.mad(s, std::to_string(tiles.bytes()), base), b.mad(s, "8", full));
      });
    }
    b.wait(b.mad(slot, "8", full), phase, "wait-full", how());
    // It would also do the work of the fence after the hand-over.
    if (!v.relaxed)
      b.op("tcgen05.fence::after_thread_sync");
    inner(b.mad(slot, std::to_string(tiles.bytes()), base), i, accumulator);
    b.op("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
         "b64 [" +
             b.mad(slot, "8", empty) + "]",
         "commit-slot");
    if (v.perStep) {
      // A barrier of its own that only this thread follows.
      std::string phaseOfStep = b.r32();
      b.op("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
           "b64 [stepped]",
           "commit-step");
      b.op("and.b32 " + phaseOfStep + ", " + i + ", 1");
      b.wait("stepped", phaseOfStep, "wait-step", how());
    }
  });
  b.op("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
       "[" +
           (v.tiles > 1 ? b.mad(buffer, "8", done) : done) + "]",
       "commit-done");
}

void Writer::multiply() {
  if (v.oneWarp) // the first slots, without waiting
    for (unsigned s = 0; s + 1 < v.stages; ++s)
      tiles.load(b, v.source == Source::BulkRing, std::to_string(s),
                 b.add(base, std::to_string(s * tiles.bytes())),
                 b.add(full, std::to_string(8 * s)));
  if (v.tiles == 1)
    multiplySteps("0");
  else
    b.loop(std::to_string(v.tiles), [&](const std::string &tile) { multiplySteps(tile); });
}

/// Warps 0 to 3: from tensor memory to the output.
void Writer::storeResult(const std::string &tile, const std::string &accumulator) {
  std::string laneBase = b.r32(), at = b.r32(), lane = b.mov("%laneid");
  b.op("shl.b32 " + laneBase + ", " + warp + ", 21"); // 32 lanes a warp
  b.op("add.u32 " + at + ", " + accumulator + ", " + laneBase);
  std::vector<std::string> r;
  std::string list;
  for (unsigned i = 0; i < columns; ++i) {
    r.push_back(b.r32());
    list += (i ? ", " : "") + r.back();
  }
  std::string out = b.param64("out"), shared;
  if (v.tmaStore)
    shared = b.mov("result");
  auto put = [&](const std::string &row, const std::string &column, const std::string &value,
                 const std::string &tag) {
    std::string index = b.mad(row, std::to_string(columns), column);
    if (v.tmaStore) {
      b.op("st.shared.u32 [" + b.mad(index, "4", shared) + "], " + value, tag);
      return;
    }
    if (v.tiles > 1)
      index = b.mad(tile, std::to_string(rows * columns), index);
    b.op("st.global.u32 [" + b.element(out, index) + "], " + value, tag);
  };
  std::string row0 = b.mad(warp, "32", "0");
  if (v.tmaStore && v.tiles > 1)
    b.op("bar.sync 2, 128", "result-free");
  if (v.shape == 0) {
    b.op("tcgen05.ld.sync.aligned.32x32b.x16.b32 {" + list + "}, [" + at + "]", "load-d");
    b.op("tcgen05.wait::ld.sync.aligned", "wait-load");
    std::string row = b.add(row0, lane);
    for (unsigned i = 0; i < columns; ++i)
      put(row, std::to_string(i), r[i], i ? "" : "write");
  } else {
    // Two halves of 16 lanes, 16x256b.x2: 8 registers each.
    for (unsigned half = 0; half < 2; ++half) {
      std::string eight;
      for (unsigned i = 0; i < 8; ++i)
        eight += (i ? ", " : "") + r[half * 8 + i];
      b.op("tcgen05.ld.sync.aligned.16x256b.x2.b32 {" + eight + "}, [" +
               (half ? b.add(at, std::to_string(16 << 16)) : at) + "]",
           half ? "load-d2" : "load-d");
    }
    b.op("tcgen05.wait::ld.sync.aligned", "wait-load");
    std::string line = b.r32(), pair = b.r32();
    b.op("shr.u32 " + line + ", " + lane + ", 2");
    b.op("and.b32 " + pair + ", " + lane + ", 3");
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned i = 0; i < 8; ++i) {
        std::string row = b.add(b.add(row0, line), std::to_string(half * 16 + i / 2 % 2 * 8));
        std::string column = b.mad(pair, "2", std::to_string(8 * (i / 4) + i % 2));
        put(row, column, r[half * 8 + i], half || i ? "" : "write");
      }
  }
  if (!v.tmaStore)
    return;
  b.op("fence.proxy.async.shared::cta", "store-fence");
  b.op("bar.sync 1, 128", "store-barrier");
  b.when(b.compare("eq", tid, "0"), [&] {
    std::string y = b.mad(tile, std::to_string(rows), "0");
    b.op("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [" + b.map("map2") + ", {0, " + y +
             "}], [" + shared + "]",
         "store");
    b.op("cp.async.bulk.commit_group", "store-commit");
    b.op("cp.async.bulk.wait_group.read 0", "store-wait");
  });
}

void Writer::epilogue() {
  if (v.tiles == 1) {
    b.wait(done, "0", "wait-done", handOver());
    b.op("tcgen05.fence::after_thread_sync", "fence-done");
    storeResult("0", tensor);
    return;
  }
  b.loop(std::to_string(v.tiles), [&](const std::string &tile) {
    std::string buffer, turn;
    position(b, tile, v.buffers, buffer, turn, "done-phase");
    b.wait(b.mad(buffer, "8", done), turn, "wait-done", handOver());
    b.op("tcgen05.fence::after_thread_sync", "fence-done");
    storeResult(tile, b.mad(buffer, std::to_string(columns), tensor));
    // Beside an arrival that releases, the fence would hide that it does.
    if (v.relaxed)
      b.op("tcgen05.fence::before_thread_sync", "fence-drain");
    b.op(std::string("mbarrier.arrive") + (v.relaxed ? ".relaxed.cta" : "") +
             ".shared::cta.b64 _, [" + b.mad(buffer, "8", drained) + "]",
         "drain");
  });
}

/// Without a ring: all threads bring a slot, one multiplies, all wait.
void Writer::oneShot() {
  b.loop(n, [&](const std::string &i) {
    tiles.copyByThreads(b, v.source == Source::CpAsync, i, base, tid, 192);
    if (v.tensorA) {
      // Warps 0 to 3 move their rows of A on to tensor memory.
      b.op("bar.sync 0", "staged");
      b.when(b.compare("lt", warp, "4"), [&] {
        std::string lane = b.mov("%laneid"), row = b.mad(warp, "32", lane);
        std::string group = b.r32(), inside = b.r32(), at;
        b.op("shr.u32 " + group + ", " + row + ", 3");
        b.op("and.b32 " + inside + ", " + row + ", 7");
        at = b.mad(group, "1024", base);
        at = b.mad(inside, "16", at);
        std::string list;
        for (unsigned c = 0; c < 8; ++c) {
          std::string w[4], each;
          for (std::string &reg : w) {
            reg = b.r32();
            each += (each.empty() ? "" : ", ") + reg;
          }
          b.op("ld.shared.v4.u32 {" + each + "}, [" + at + "+" + std::to_string(128 * c) + "]",
               "stage-" + std::to_string(c));
          list += (list.empty() ? "" : ", ") + each;
        }
        std::string to = b.r32();
        b.op("shl.b32 " + to + ", " + warp + ", 21");
        b.op("add.u32 " + to + ", " + to + ", " + tensor);
        b.op("tcgen05.st.sync.aligned.32x32b.x32.b32 [" + to + "+32], {" + list + "}", "store-a");
        b.op("tcgen05.wait::st.sync.aligned", "wait-store");
      });
      b.op("tcgen05.fence::before_thread_sync");
    }
    b.op("fence.proxy.async.shared::cta", "proxy-fence");
    b.op("bar.sync 0", "filled");
    b.when(b.compare("eq", warp, "4"), [&] {
      b.elect([&] {
        b.op("tcgen05.fence::after_thread_sync");
        inner(base, i, tensor);
        b.op("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
             "cluster.b64 [" +
                 done + "]",
             "commit-done");
      });
    });
    std::string phase = b.r32();
    b.op("and.b32 " + phase + ", " + i + ", 1", "step-phase");
    b.wait(done, phase, "wait-done", how());
  });
  b.op("tcgen05.fence::after_thread_sync");
  b.when(b.compare("lt", warp, "4"), [&] { storeResult("0", tensor); });
}

Kernel Writer::make() {
  begin();
  if (ring) {
    if (!v.oneWarp)
      b.when(b.compare("eq", warp, "5"), [&] { b.elect([&] { produce(); }); });
    b.when(b.compare("eq", warp, "4"), [&] { b.elect([&] { multiply(); }); });
    b.when(b.compare("lt", warp, "4"), [&] { epilogue(); });
  } else {
    oneShot();
  }
  b.op("tcgen05.fence::before_thread_sync");
  b.op("bar.sync 0", "finish");
  b.when(b.compare("eq", warp, "4"),
         [&] { b.op("tcgen05.dealloc.cta_group::1.sync.aligned.b32 " + tensor + ", 64", "free"); });
  Kernel kernel;
  kernel.name = v.name;
  kernel.family = "tcgen05";
  kernel.text = b.finish();
  kernel.config.block = {192, 1, 1};
  kernel.iterations = v.stages + 2;
  tiles.data(kernel);
  std::vector<uint32_t> once = kernel.expected;
  for (unsigned i = 1; i < v.tiles; ++i)
    kernel.expected.insert(kernel.expected.end(), once.begin(), once.end());
  if (v.tiles > 1 && v.tmaStore) {
    auto maps = kernel.maps;
    unsigned total = v.tiles * rows;
    kernel.maps = [maps, total](uint64_t in, uint64_t in2, uint64_t out, TensorMap *list) {
      maps(in, in2, out, list);
      list[2].dims[1] = total;
    };
  }
  addTwins(kernel);
  return kernel;
}

void Writer::addTwins(Kernel &kernel) {
  auto twin = [&](Twin each) { kernel.twins.push_back(std::move(each)); };
  std::vector<std::string> access = {"mma",  "mma1",   "mma2",    "mma3",  "load-a",  "load-b",
                                     "fill", "load-d", "load-d2", "write", "store-a", "free"};
  std::vector<std::string> waits = {"wait-full", "wait-empty", "wait-done", "wait-drained",
                                    "wait-step"};
  twin({"reads the accumulator too early",
        "wait-done",
        "$wait",
        "",
        {race, EmuUninitialized},
        access});
  twin({"no commit for the result",
        "commit-done",
        "",
        "",
        {deadlock},
        {"wait-done", "wait-step", "wait-drained", "finish"}});
  twin({"tensor memory is not freed", "free", "", "", {EmuTensorMemoryMisuse}, {"alloc"}});
  twin({"allocates an illegal size", "alloc", "64", "48", {EmuTensorMemoryMisuse}, {"alloc"}});
  twin({"frees before all are done", "finish", "", "", {race}, {"free"}});
  twin({"uses registers before the load is over",
        "wait-load",
        "",
        "",
        {EmuRegisterInFlight},
        {"load-d", "load-d2"}});
  if (v.relaxed)
    twin({"no fence before the accumulator is read", "fence-done", "", "", {race}, access});
  if (v.tiles > 1) {
    twin({"no wait for the load from tensor memory", "wait-load", "", "", {race}, access});
    twin({"overwrites an accumulator in use", "wait-drained", "$wait", "", {race}, access});
    twin({"accumulator never given back", "drain", "", "", {deadlock}, waits});
    if (v.relaxed) {
      twin({"no fence before giving back", "fence-drain", "", "", {race}, access});
      twin({"no fence after getting back", "fence-drained", "", "", {race}, access});
    } else {
      twin({"relaxed hand-over", "drain", ".shared", ".relaxed.cta.shared", {race}, access});
    }
    if (!v.tmaStore) // there the warps meet before they hand over
      twin({"forgets a warp of readers",
            "init-drained",
            "128",
            "96",
            {race, EmuMbarrierMisuse},
            {"mma", "mma1", "mma2", "mma3", "load-d", "load-d2", "drain"}});
  } else {
    twin({"no wait for the load from tensor memory",
          "wait-load",
          "",
          "",
          {race},
          {"free", "load-d", "load-d2"}});
  }
  if (v.perStep)
    twin({"no commit for the step", "commit-step", "", "", {deadlock}, waits});
  if (ring) {
    std::string bytes = "], " + std::to_string(tiles.bytes());
    twin({"multiplies without waiting", "wait-full", "$wait", "", {race}, access});
    twin({"fills without waiting", "wait-empty", "$wait", "", {race}, access});
    twin({"slots are never given back", "commit-slot", "", "", {deadlock}, waits});
    twin({"consumer in the wrong phase", "consumer-phase", "and.b32", "or.b32", {race}, access});
    std::vector<std::string> either = access;
    either.insert(either.end(), waits.begin(), waits.end());
    either.push_back("expect");
    twin({"expects too many bytes",
          "expect",
          bytes,
          "], " + std::to_string(tiles.bytes() + 16),
          {deadlock, race},
          either});
    twin({"expects too few bytes",
          "expect",
          bytes,
          "], " + std::to_string(tiles.bytesA()),
          {race, deadlock, EmuMbarrierMisuse},
          either});
    twin({"slot needs two arrivals", "init-empty", "], 1", "], 2", {deadlock}, waits});
  } else {
    twin({"no proxy fence", "proxy-fence", "", "", {EmuMissingProxyFence}, access});
    twin({"no barrier after filling", "filled", "", "", {race}, access});
    twin({"wrong phase of the step", "step-phase", "and.b32", "or.b32", {race}, access});
    if (v.tensorA) {
      twin({"no wait for the store to tensor memory",
            "wait-store",
            "",
            "",
            {race},
            {"mma", "mma1", "mma2", "mma3", "store-a"}});
      twin({"reads before all is staged",
            "staged",
            "",
            "",
            {race},
            {"fill", "stage-0", "stage-1", "stage-2", "stage-3", "stage-4", "stage-5", "stage-6",
             "stage-7"}});
    }
  }
  if (v.tmaStore) {
    twin({"no proxy fence before the store",
          "store-fence",
          "",
          "",
          {EmuMissingProxyFence},
          {"store", "write"}});
    twin({"no barrier before the store",
          "store-barrier",
          "",
          "",
          {race, EmuUninitialized},
          {"store", "write"}});
    twin({"no wait for the store",
          "store-wait",
          "",
          "",
          {EmuInFlightAtExit, race},
          {"store", "write"}});
  }
}

} // namespace

void addTcgen05Kernels(std::vector<Kernel> &kernels) {
  for (const Variant &variant : variants)
    kernels.push_back(Writer(variant).make());
}

} // namespace penstock::emu::selftest
