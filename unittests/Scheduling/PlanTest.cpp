//===- PlanTest.cpp - Plans: derived, verified, damaged -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/Plan.h"
#include "Diagnostics/Codes.h"
#include "Instances.h"

#include <chrono>
#include <fstream>
#include <iterator>

using namespace penstock;
using namespace penstock::sched;

namespace {

Instance parse(const std::string &text) {
  ParsedInstances parsed = parseInstances(text, "test");
  EXPECT_FALSE(parsed.error) << parsed.error->message;
  return parsed.instances.at(0);
}

/// A matmul with these engines and versions.
Instance matmul(const std::string &copies, const std::string &product,
                const std::string &accumulator, int versions) {
  std::string v = " versions " + std::to_string(versions);
  bool queued = product != "mma.sync";
  return parse("loop matmul {\n"
               "  buffer A global\n  buffer B global\n"
               "  buffer As shared bytes 16384" +
               v + "\n  buffer Bs shared bytes 8192" + v +
               "\n"
               "  buffer acc " +
               accumulator +
               "\n  queue mma inorder acc\n"
               "  statement copyA copy async executes " +
               copies +
               " reads A[k] writes As\n"
               "  statement copyB copy async executes " +
               copies +
               " reads B[k] writes Bs\n"
               "  statement gemm compute " +
               (queued ? "async queue mma " : "") + "executes " + product +
               " reads As, Bs, acc writes acc\n"
               "  schedule stage 0 0 2 order 0 1 2\n}\n");
}

Plan derived(const Instance &i, RoleAssignment roles = {}, RoleSizes sizes = {{0}, {4}}) {
  Plan plan = derive(i.problem, *i.schedule, roles, sizes);
  for (const Diagnostic &d : plan.diagnostics)
    ADD_FAILURE() << d.message;
  for (const Uncovered &u : uncovered(plan))
    ADD_FAILURE() << u.what << "\n" << printPlan(plan);
  EXPECT_TRUE(checkRoles(systemOf(plan)).live);
  EXPECT_TRUE(checkParity(systemOf(plan)).exact);
  return plan;
}

std::string text(const std::vector<PlanPoint> &points, const Plan &plan) {
  std::string out;
  for (const PlanPoint &p : points)
    out += "[" + std::to_string(p.stage) + "] " + printPoint(plan, p) + "\n";
  return out;
}

/// Three slots, products awaited one step later: the wait for the product, then all
/// threads meet, then the leader refills the slot that it read.
TEST(Plan, SkewedHopperMatmul) {
  Plan plan = derived(matmul("tma.load", "wgmma", "local", 3));
  EXPECT_EQ(text(plan.roles[0].points, plan),
            "[0] wait_group wgmma pending 0\n"
            "[0] join\n"
            "[0] leader expect full copyA bytes 24576\n"
            "[0] leader issue copyA signals full copyA bytes 16384\n"
            "[0] leader issue copyB signals full copyA bytes 8192\n"
            "[2] wait full copyA distance 0\n"
            "[2] issue gemm\n"
            "[2] commit wgmma\n");
  EXPECT_EQ(text(plan.roles[0].drain, plan), "[0] wait_group wgmma pending 0\n");
  ASSERT_EQ(plan.barriers.size(), 1u);
  EXPECT_EQ(plan.barriers[0].slots, 3);
}

/// One slot more lets one product stay in flight.
TEST(Plan, OneMoreSlotKeepsAProductInFlight) {
  Plan plan = derived(matmul("tma.load", "wgmma", "local", 4));
  EXPECT_EQ(plan.roles[0].points[0].kind, PlanPoint::WaitGroup);
  EXPECT_EQ(plan.roles[0].points[0].pending, 1);
}

/// The classical loop: one barrier of all threads per step, one group in flight.
TEST(Plan, SkewedAmpereMatmul) {
  Plan plan = derived(matmul("cp.async", "mma.sync", "local", 3));
  EXPECT_EQ(text(plan.roles[0].points, plan), "[2] wait_group cp.async pending 1\n"
                                              "[2] join\n"
                                              "[0] issue copyA\n"
                                              "[0] issue copyB\n"
                                              "[0] commit cp.async\n"
                                              "[2] issue gemm\n");
  EXPECT_TRUE(plan.barriers.empty() && plan.roles[0].drain.empty());
}

/// The leader alone issues copies and products: no thread meets another.
TEST(Plan, SkewedBlackwellMatmul) {
  Plan plan = derived(matmul("tma.load", "tcgen05.mma", "tensor", 3));
  for (const PlanPoint &p : plan.roles[0].points)
    EXPECT_TRUE(p.leader) << printPoint(plan, p);
  ASSERT_EQ(plan.barriers.size(), 2u);
  EXPECT_EQ(plan.roles[0].points[0].distance, 3); // the product that read the slot
}

TEST(Plan, WarpSpecializedMatmul) {
  Plan plan = derived(matmul("tma.load", "wgmma", "local", 3), {{0, 0, 1}, {"load", "mma"}},
                      {{0, 4}, {1, 4}});
  EXPECT_EQ(text(plan.roles[0].points, plan),
            "[0] leader wait after gemm distance 3\n"
            "[0] leader expect full copyA bytes 24576\n"
            "[0] leader issue copyA signals full copyA bytes 16384\n"
            "[0] leader issue copyB signals full copyA bytes 8192\n");
  // The slot is released one product later, by all 128 threads.
  EXPECT_EQ(text(plan.roles[1].points, plan), "[2] wait full copyA distance 0\n"
                                              "[2] issue gemm\n"
                                              "[2] commit wgmma\n"
                                              "[3] wait_group wgmma pending 1\n"
                                              "[3] arrive after gemm count 128\n");
}

unsigned joinsOf(const Plan &plan) {
  unsigned joins = 0;
  for (const PlanPoint &point : plan.roles[0].points)
    joins += point.kind == PlanPoint::Join;
  return joins;
}

/// A wgmma is one operation of its warpgroup: who has awaited it may overwrite what all of its
/// warps read. Two warpgroups must meet.
TEST(Plan, ProductsEndForTheirWarpgroup) {
  Instance i = parse("loop filled {\n"
                     "  buffer X global\n  buffer As shared bytes 8192\n  buffer acc local\n"
                     "  queue mma inorder acc\n"
                     "  statement fill compute reads X[k] writes As\n"
                     "  statement gemm compute async queue mma executes wgmma reads As, acc writes "
                     "acc\n"
                     "  schedule stage 0 0 order 0 1\n}\n");
  EXPECT_EQ(joinsOf(derived(i)), 1u);
  EXPECT_EQ(joinsOf(derived(i, {}, {{0}, {8}})), 2u);
}

/// Threads copy for other threads and for the tensor core. One join serves both, if
/// it comes after the fence that only the tensor core needs.
TEST(Plan, OneJoinHasTheFences) {
  Plan plan = derived(
      parse("loop shared {\n"
            "  buffer L global\n  buffer Q global\n  buffer l shared bytes 256 versions 2\n"
            "  buffer Qs shared bytes 8192 versions 2\n  buffer acc local\n  buffer r local\n"
            "  queue mma inorder acc\n"
            "  statement copyL copy reads L[k] writes l\n"
            "  statement copyQ copy reads Q[k] writes Qs\n"
            "  statement gemm compute async queue mma executes wgmma reads Qs, acc writes acc\n"
            "  statement use compute reads l writes r\n"
            "  schedule stage 0 0 2 2 order 1 3 2 0\n}\n"));
  EXPECT_EQ(joinsOf(plan), 1u) << printPlan(plan);
}

/// A thread waits for each copy by TMA itself, and for its own copies by cp.async.
TEST(Plan, WhoKnowsThatEnginesHaveEnded) {
  EXPECT_TRUE(endsInAllThreads(derived(matmul("tma.load", "wgmma", "local", 3))));
  EXPECT_FALSE(endsInAllThreads(derived(matmul("tma.load", "tcgen05.mma", "tensor", 3))));
  EXPECT_FALSE(endsInAllThreads(derived(parse("loop copied {\n"
                                              "  buffer X global\n  buffer As shared bytes 4096\n"
                                              "  statement load copy async executes cp.async reads "
                                              "X[k] writes As\n"
                                              "  schedule stage 0 order 0\n}\n"))));
}

/// The threads of one warpgroup know that its products have ended; those of two have to meet.
TEST(Plan, WhichThreadsOfARoleKnowThatProductsHaveEnded) {
  auto plan = [](int64_t warps) {
    return derived(matmul("tma.load", "wgmma", "local", 3), {{0, 0, 1}, {"load", "mma"}},
                   {{warps, 0}, {1, warps}});
  };
  EXPECT_TRUE(endsInRole(plan(4), 1, /*inEach=*/true));
  EXPECT_FALSE(endsInRole(plan(8), 1, /*inEach=*/true));
  EXPECT_TRUE(endsInRole(plan(8), 1));
}

Instance transpose(const std::string &holder) {
  return parse("loop transpose {\n"
               "  buffer X global\n  buffer Y global\n  buffer In shared bytes 4096\n"
               "  buffer r local\n  buffer Out shared bytes 4096\n"
               "  statement load copy async executes tma.load reads X[k] writes In\n"
               "  statement get compute reads In writes r\n"
               "  statement put compute reads r writes Out" +
               holder +
               "\n"
               "  statement check compute reads Out" +
               holder +
               "\n"
               "  statement store copy async executes tma.store reads Out writes Y[k]\n"
               "  schedule stage 0 1 1 1 1 order 0 1 2 3 4\n}\n");
}

int count(const Plan &plan, PlanPoint::Kind kind) {
  int found = 0;
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &p : role.points)
      found += p.kind == kind;
  return found;
}

/// Threads that read back what they wrote themselves need not meet.
TEST(Plan, HoldersSaveJoins) {
  auto joins = [](const std::string &holder) {
    return count(derived(parse("loop held {\n  buffer S shared\n  buffer x local\n"
                               "  statement put compute reads x writes S~holder 1\n"
                               "  statement get compute reads S~holder " +
                               holder +
                               " writes x\n"
                               "  schedule stage 0 0 order 0 1\n}\n")),
                 PlanPoint::Join);
  };
  EXPECT_EQ(joins("1"), 0);
  EXPECT_EQ(joins("2"), 2); // before S is read, and before it is written again
}

/// Attention on Blackwell: products one iteration ahead of the softmax.
Plan attention() {
  Instance i = parse(R"(loop attention {
  buffer K global
  buffer V global
  buffer Ks shared bytes 16384 versions 2
  buffer Vs shared bytes 16384 versions 2
  buffer S tensor versions 2
  buffer P tensor
  buffer O tensor
  buffer s local
  buffer o local
  queue mma inorder S, O
  statement copyK copy async executes tma.load reads K[k] writes Ks
  statement QK compute async queue mma executes tcgen05.mma reads Ks writes S
  statement ldS compute async executes tcgen05.ld reads S~holder 1 writes s
  statement softmax compute reads s writes s
  statement stP compute async executes tcgen05.st reads s writes P~holder 1
  statement ldO compute async executes tcgen05.ld reads O~holder 1 writes o
  statement rescale compute reads o, s writes o
  statement stO compute async executes tcgen05.st reads o writes O~holder 1
  statement copyV copy async executes tma.load reads V[k] writes Vs
  statement PV compute async queue mma executes tcgen05.mma reads P, Vs, O writes O
  schedule stage 0 0 1 1 1 1 1 1 0 1 order 0 1 2 3 4 5 6 7 8 9
})");
  return derived(i, {{0, 1, 2, 2, 2, 2, 2, 2, 0, 1}, {"load", "mma", "softmax"}},
                 {{0, 1, 4}, {1, 1, 4}});
}

/// Two rings of loads, the two products, and one arrival of the softmax threads: it
/// also tells that S has been read, since it comes later.
TEST(Plan, AttentionInThreeRoles) {
  Plan plan = attention();
  EXPECT_EQ(plan.barriers.size(), 5u) << printPlan(plan);
  EXPECT_EQ(count(plan, PlanPoint::Arrive), 1);
  EXPECT_EQ(count(plan, PlanPoint::Join), 0);
  EXPECT_EQ(text(plan.roles[2].points, plan), "[1] wait done QK distance 0\n"
                                              "[1] fence tensor after\n"
                                              "[1] issue ldS\n"
                                              "[1] wait_group tcgen05.ld pending 0\n"
                                              "[1] issue softmax\n"
                                              "[1] wait done PV distance 1\n"
                                              "[1] fence tensor after\n"
                                              "[1] issue stP\n"
                                              "[1] issue ldO\n"
                                              "[1] wait_group tcgen05.ld pending 0\n"
                                              "[1] issue rescale\n"
                                              "[1] issue stO\n"
                                              "[1] wait_group tcgen05.st pending 0\n"
                                              "[1] fence tensor before\n"
                                              "[1] arrive after stO count 128\n");
}

/// Leaving out any point is noticed, with the statements that it kept in order.
TEST(Plan, EveryPointIsNeeded) {
  std::vector<Plan> plans = {attention(),
                             derived(matmul("tma.load", "wgmma", "local", 4)),
                             derived(transpose("")),
                             derived(matmul("cp.async", "mma.sync", "local", 3)),
                             derived(matmul("tma.load", "tcgen05.mma", "tensor", 3)),
                             derived(matmul("tma.load", "wgmma", "local", 3),
                                     {{0, 0, 1}, {"load", "mma"}}, {{0, 4}, {1, 4}})};
  for (const Plan &plan : plans)
    for (size_t r = 0; r < plan.roles.size(); ++r) {
      for (size_t p = 0; p < plan.roles[r].points.size(); ++p) {
        if (plan.roles[r].points[p].kind == PlanPoint::Issue)
          continue;
        Plan without = plan;
        without.roles[r].points.erase(without.roles[r].points.begin() + ptrdiff_t(p));
        EXPECT_FALSE(uncovered(without).empty())
            << printPoint(plan, plan.roles[r].points[p]) << "\n"
            << printPlan(plan);
      }
      for (size_t p = 0; p < plan.roles[r].drain.size(); ++p) {
        Plan without = plan;
        without.roles[r].drain.erase(without.roles[r].drain.begin() + ptrdiff_t(p));
        ASSERT_FALSE(uncovered(without).empty());
        EXPECT_EQ(uncovered(without)[0].kind, Uncovered::InFlight);
      }
    }
}

TEST(Plan, GapsNameTheirCause) {
  Plan plan = derived(transpose(""));
  Plan unfenced = plan;
  std::erase_if(unfenced.roles[0].points,
                [](const PlanPoint &p) { return p.kind == PlanPoint::Fence; });
  ASSERT_FALSE(uncovered(unfenced).empty());
  EXPECT_EQ(uncovered(unfenced)[0].kind, Uncovered::MissingFence);
  EXPECT_EQ(uncovered(unfenced)[0].fence, FenceKind::Proxy);

  Plan early = derived(matmul("tma.load", "wgmma", "local", 3));
  early.roles[0].points[0].pending = 1; // the product that reads the slot may run
  std::vector<Uncovered> gaps = uncovered(early);
  ASSERT_FALSE(gaps.empty());
  EXPECT_EQ(gaps[0].kind, Uncovered::Conflict);
  EXPECT_EQ(gaps[0].first, 2u);
  EXPECT_EQ(gaps[0].distance, 3);
  Diagnostic d = describe(early, gaps[0]);
  EXPECT_EQ(d.code, unsigned(PlanUncovered));
  EXPECT_EQ(d.message, "the plan of `matmul` is not safe: `gemm` and `copyA` on `As` are not "
                       "ordered, 3 iterations apart");

  Plan bytes = derived(matmul("tma.load", "wgmma", "local", 3));
  bytes.barriers[0].bytes -= 16;
  ASSERT_FALSE(uncovered(bytes).empty());
  EXPECT_EQ(uncovered(bytes)[0].kind, Uncovered::Malformed);

  // With one barrier for three tokens in flight, a wait takes token k for k + 1.
  Plan confused = derived(matmul("tma.load", "wgmma", "local", 3));
  confused.barriers[0].slots = 1;
  gaps = uncovered(confused);
  ASSERT_FALSE(gaps.empty());
  EXPECT_EQ(gaps[0].kind, Uncovered::Phase);
}

/// A point under a condition helps only the statements that have the condition.
TEST(Plan, GuardedPointsCountWithTheirPairOnly) {
  auto loop = [](const std::string &writer, const std::string &reader) {
    return derived(parse("loop guarded {\n  buffer S shared\n  buffer x local\n"
                         "  statement put compute writes S " +
                         writer +
                         "\n"
                         "  statement get compute reads S writes x " +
                         reader +
                         "\n"
                         "  schedule stage 0 0 order 0 1\n}\n"));
  };
  for (bool condition : {true, false}) {
    Plan plan = loop(condition ? "when c" : "", "when c");
    bool changed = false;
    for (PlanPoint &p : plan.roles[0].points)
      if (p.kind == PlanPoint::Join && p.at == 1)
        changed = p.guarded = true; // the condition of get
    ASSERT_TRUE(changed) << printPlan(plan);
    EXPECT_TRUE(isCovered(plan)) << printPlan(plan);
  }
  // put always runs, and writes again although get did not read.
  Plan plan = loop("", "when c");
  for (PlanPoint &p : plan.roles[0].points)
    if (p.kind == PlanPoint::Join)
      p.guarded = true, p.at = 1;
  std::vector<Uncovered> gaps = uncovered(plan);
  ASSERT_EQ(gaps.size(), 2u) << printPlan(plan);
  for (const Uncovered &gap : gaps) // write after write, and write after read
    EXPECT_TRUE(gap.second == 0u && gap.distance == 1) << gap.what;
}

/// Straight code has no next iteration that could overwrite a tile.
TEST(Plan, StraightCode) {
  Instance i = parse("loop once {\n  buffer X global\n  buffer S shared bytes 512\n"
                     "  buffer T shared bytes 512\n  buffer Y global\n  buffer r local\n"
                     "  statement load copy async executes tma.load reads X writes S\n"
                     "  statement get compute reads S writes r\n"
                     "  statement put compute reads r writes T\n"
                     "  statement store copy async executes tma.store reads T writes Y\n}\n");
  Plan plan = deriveStraight(i.problem, {}, {{0}, {4}});
  ASSERT_TRUE(plan.diagnostics.empty()) << plan.diagnostics[0].message;
  EXPECT_TRUE(uncovered(plan).empty());
  EXPECT_EQ(text(plan.roles[0].points, plan), "[0] leader expect full load bytes 512\n"
                                              "[0] leader issue load signals full load bytes 512\n"
                                              "[0] wait full load distance 0\n"
                                              "[0] issue get\n"
                                              "[0] issue put\n"
                                              "[0] fence proxy\n"
                                              "[0] join\n"
                                              "[0] leader issue store\n"
                                              "[0] leader commit tma.store\n");
  EXPECT_EQ(text(plan.roles[0].drain, plan), "[0] leader wait_group tma.store pending 0\n");
}

TEST(Plan, RegistersStayInTheirRole) {
  Instance i = transpose("");
  Plan plan = derive(i.problem, *i.schedule, {{0, 0, 1, 1, 1}, {"a", "b"}});
  ASSERT_FALSE(plan.diagnostics.empty());
  EXPECT_NE(plan.diagnostics[0].message.find("share the registers of `r`"), std::string::npos);
}

TEST(Plan, PendingWithoutEmptyGroups) {
  Plan plan = derived(matmul("cp.async", "mma.sync", "local", 3));
  // In iteration k of the wait, the group of iteration k + 1 may be in flight; in the
  // last iteration there is none.
  EXPECT_EQ(pendingAt(plan, 0, 0, 0, 8), 1);
  EXPECT_EQ(pendingAt(plan, 0, 0, 6, 8), 1);
  EXPECT_EQ(pendingAt(plan, 0, 0, 7, 8), 0);
  EXPECT_EQ(pendingAt(plan, 0, 0, 0, 1), 0);
}

/// Compile time allows 5 ms for one ring; it takes a small part of that.
TEST(Plan, VerifiesARingInMilliseconds) {
  Plan plan = derived(matmul("tma.load", "wgmma", "local", 4), {{0, 0, 1}, {"load", "mma"}},
                      {{0, 4}, {1, 4}});
  auto best = std::chrono::duration<double>::max();
  for (int run = 0; run < 5; ++run) {
    auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(uncovered(plan).empty());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start));
  }
  EXPECT_LT(best.count(), 5e-3);
}

/// docs/contributing/plans.md shows a loop and its plans, as they are.
TEST(Plan, DocumentedExample) {
  std::ifstream file(PENSTOCK_SOURCE_DIR "/docs/contributing/plans.md");
  std::string page{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> blocks;
  for (size_t at = page.find("```\n"); at != std::string::npos;) {
    size_t end = page.find("```\n", at + 4);
    ASSERT_NE(end, std::string::npos);
    blocks.push_back(page.substr(at + 4, end - at - 4));
    at = page.find("```\n", end + 4);
  }
  ASSERT_EQ(blocks.size(), 4u); // an overview, the loop, and its two plans
  Instance loop = parse(blocks[1]);
  EXPECT_EQ(printPlan(derived(loop)), blocks[2]);
  std::string roles = printPlan(derived(loop, {{0, 0, 1}, {"load", "mma"}}, {{0, 4}, {1, 4}}));
  EXPECT_EQ(roles.substr(roles.find("  role")), blocks[3]);
}

} // namespace
