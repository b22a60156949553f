//===- BlockContext.cpp - Runtime calls of generated code -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/BlockContext.h"
#include "Runtime/Iterations.h"
#include "Runtime/PackPanels.h"
#include "Runtime/PackTransposed.h"
#include "Runtime/PrintRecords.h"
#include "penstock/elements.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace penstock {

BlockContext::BlockContext(LaunchState &launch, uint64_t block)
    : launch(launch), randomState(launch.options.seed * 0x9e3779b97f4a7c15u + block + 1) {}

void BlockContext::fault(int32_t number) {
  if (number >= 0 && static_cast<size_t>(number) < launch.faulted.size())
    launch.faulted[number].store(true, std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void BlockContext::printText(uint64_t chars, int32_t count) {
  char text[8];
  std::memcpy(text, &chars, sizeof text);
  line.append(text, static_cast<size_t>(count));
}

void BlockContext::printInt(int64_t value) { appendInteger(line, value); }

void BlockContext::printFloat(double value) { appendReal(line, value); }

void BlockContext::printEnd() {
  line += '\n';
  std::lock_guard lock(launch.printing);
  if (!launch.options.print)
    std::fwrite(line.data(), 1, line.size(), stdout);
  else if (!launch.printError)
    try {
      launch.options.print(line);
    } catch (...) {
      launch.printError = std::current_exception();
    }
  line.clear();
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

uint64_t BlockContext::random() {
  // splitmix64: small, and the same everywhere.
  uint64_t z = (randomState += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void BlockContext::run(size_t index) {
  Request request = std::move(pending[index]);
  pending.erase(pending.begin() + static_cast<ptrdiff_t>(index));
  request.code(request.slots.data());
}

void BlockContext::complete(size_t index) {
  int64_t chain = pending[index].chain;
  for (size_t i = 0; chain && i < index;) {
    if (pending[i].chain != chain) {
      ++i;
      continue;
    }
    run(i);
    --index;
  }
  run(index);
}

void BlockContext::completeSome() {
  if (launch.options.completion != Completion::Random)
    return;
  while (!pending.empty() && random() % 2)
    complete(random() % pending.size());
}

void BlockContext::issue(int32_t name, int64_t iteration, int64_t chain, Entry code,
                         const uint64_t *slots, int32_t count) {
  int64_t number = counted(name, iteration);
  pending.push_back({name, number, chain, code, {slots, slots + count}});
  if (launch.options.completion == Completion::Eager)
    complete(pending.size() - 1);
  else
    completeSome();
}

/// Iterations count on when a loop runs again.
int64_t BlockContext::counted(int32_t name, int64_t iteration) {
  Count &count = counts[name];
  count.next = std::max(count.next, count.base + iteration + 1);
  return count.base + iteration;
}

void BlockContext::startLoop(int32_t name) { counts[name].base = counts[name].next; }

void BlockContext::wait(int32_t name, int64_t iteration, int64_t lag) {
  completeSome();
  int64_t last = iteration == allIterations ? INT64_MAX : counted(name, iteration) - lag;
  auto isDue = [&](const Request &request) {
    return request.name == name && request.iteration <= last;
  };
  // Completing one may complete earlier ones of its chain, so look anew.
  for (auto due = std::find_if(pending.begin(), pending.end(), isDue); due != pending.end();
       due = std::find_if(pending.begin(), pending.end(), isDue))
    complete(static_cast<size_t>(due - pending.begin()));
  completeSome();
}

void BlockContext::finish() {
  while (!pending.empty())
    complete(0);
}

//===----------------------------------------------------------------------===//
// The functions themselves
//===----------------------------------------------------------------------===//

std::vector<std::pair<const char *, void *>> runtimeFunctions() {
  auto address = [](auto function) { return reinterpret_cast<void *>(+function); };
  return {
      {"penstock_fault", address([](BlockContext *c, int32_t number) { c->fault(number); })},
      {"penstock_print_text",
       address([](BlockContext *c, uint64_t chars, int32_t count) { c->printText(chars, count); })},
      {"penstock_print_int", address([](BlockContext *c, int64_t value) { c->printInt(value); })},
      {"penstock_print_float",
       address([](BlockContext *c, double value) { c->printFloat(value); })},
      {"penstock_print_end", address([](BlockContext *c) { c->printEnd(); })},
      {"penstock_pack_transposed",
       address([](BlockContext *, int32_t type, const char *from, int64_t offset, int64_t stride,
                  float *to, int64_t rows, int64_t columns) {
         size_t bytes = PackFrom(type) == PackFrom::F32 ? 4 : 2;
         packTransposed(PackFrom(type), from + offset * int64_t(bytes), stride, to, columns, rows,
                        columns);
       })},
      {"penstock_pack_panels",
       address([](BlockContext *, int64_t bytes, const void *from, int64_t rows, int64_t columns,
                  int64_t rowStride, int64_t columnStride, void *to, int64_t groups) {
         packPanels({from, rows, columns, rowStride, columnStride, bytes}, to, groups);
       })},
      {"penstock_pack_rows",
       address([](BlockContext *, int64_t bytes, const void *from, int64_t rows, int64_t columns,
                  int64_t rowStride, int64_t columnStride, void *to, int64_t rowBytes,
                  int64_t flip) {
         packRows({from, rows, columns, rowStride, columnStride, bytes}, to, rowBytes,
                  static_cast<uint8_t>(flip));
       })},
      {"penstock_pack_tiles",
       address([](BlockContext *, int64_t bytes, const void *from, int64_t rows, int64_t columns,
                  int64_t rowStride, int64_t columnStride, void *to, int64_t steps) {
         packTiles({from, rows, columns, rowStride, columnStride, bytes}, to, steps);
       })},
      {"penstock_offset_sums", address([](BlockContext *, const void *packed, int64_t panels,
                                          int64_t panelBytes, int64_t groups, int32_t *sums) {
         offsetSums(packed, panels, panelBytes, groups, sums);
       })},
      // LLVM's name for the rounding of f32 to bf16, which it calls where no instruction does
      // it. The result is in the lower half of a vector register, as that of a float.
      {"__truncsfbf2", address([](float value) {
         bf16 rounded(value);
         uint32_t bits = 0;
         std::memcpy(&bits, &rounded, sizeof rounded);
         return detail::bits<float>(bits);
       })},
      {"penstock_async_issue",
       address([](BlockContext *c, int32_t name, int64_t iteration, int64_t chain,
                  BlockContext::Entry code, const uint64_t *slots,
                  int32_t count) { c->issue(name, iteration, chain, code, slots, count); })},
      {"penstock_async_loop", address([](BlockContext *c, int32_t name) { c->startLoop(name); })},
      {"penstock_async_wait", address([](BlockContext *c, int32_t name, int64_t iteration,
                                         int64_t lag) { c->wait(name, iteration, lag); })},
  };
}

} // namespace penstock
