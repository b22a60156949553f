//===- Clock.cpp - Vector clocks over threads and engines -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Time/Clock.h"

#include <algorithm>

namespace penstock::emu {

uint32_t Clock::find(uint64_t key) const {
  auto it = std::lower_bound(sparse.begin(), sparse.end(), Entry(key, 0));
  return it != sparse.end() && it->first == key ? it->second : 0;
}

void Clock::raise(uint64_t key, uint32_t count) {
  auto it = std::lower_bound(sparse.begin(), sparse.end(), Entry(key, 0));
  if (it != sparse.end() && it->first == key)
    it->second = std::max(it->second, count);
  else
    sparse.insert(it, Entry(key, count));
}

uint32_t Clock::warp(uint32_t warp) const {
  if (warp - base < dense.size())
    return dense[warp - base];
  return find(warpTag | warp);
}

uint32_t Clock::lane(uint32_t warp, unsigned lane) const {
  return std::max(this->warp(warp), find(uint64_t(warp) << 5 | lane));
}

void Clock::setLane(uint32_t warp, unsigned lane, uint32_t count) {
  if (this->warp(warp) < count)
    raise(uint64_t(warp) << 5 | lane, count);
}

/// Lane entries that the entry of their warp already says need not be kept.
bool Clock::covers(const Entry &entry) const {
  return entry.first < warpTag && warp(uint32_t(entry.first >> 5)) >= entry.second;
}

void Clock::setWarp(uint32_t warp, uint32_t count) {
  if (warp - base < dense.size())
    dense[warp - base] = std::max(dense[warp - base], count);
  else
    raise(warpTag | warp, count);
  uint64_t from = uint64_t(warp) << 5;
  auto first = std::lower_bound(sparse.begin(), sparse.end(), Entry(from, 0));
  auto last = first;
  while (last != sparse.end() && last->first < from + 32)
    ++last;
  auto kept = std::remove_if(first, last, [&](const Entry &e) { return covers(e); });
  sparse.erase(kept, last);
}

void Clock::join(const Clock &other) {
  if (dense.empty() && !other.dense.empty() && sparse.empty()) {
    *this = other;
    return;
  }
  if (base == other.base && dense.size() == other.dense.size()) {
    for (size_t i = 0; i < dense.size(); ++i)
      dense[i] = std::max(dense[i], other.dense[i]);
  } else {
    for (size_t i = 0; i < other.dense.size(); ++i)
      if (other.dense[i]) {
        uint32_t warp = other.base + uint32_t(i);
        if (warp - base < dense.size())
          dense[warp - base] = std::max(dense[warp - base], other.dense[i]);
        else
          raise(warpTag | warp, other.dense[i]);
      }
  }
  if (other.sparse.empty())
    return;
  std::vector<Entry> merged;
  merged.reserve(sparse.size() + other.sparse.size());
  auto a = sparse.begin();
  auto b = other.sparse.begin();
  auto add = [&](const Entry &entry) {
    if (!covers(entry))
      merged.push_back(entry);
  };
  while (a != sparse.end() || b != other.sparse.end()) {
    if (b == other.sparse.end() || (a != sparse.end() && a->first < b->first)) {
      add(*a++);
    } else if (a == sparse.end() || b->first < a->first) {
      // Another cluster's list may name a warp of our dense part.
      if (b->first >= warpTag && b->first < agentTag && uint32_t(b->first) - base < dense.size()) {
        uint32_t &mine = dense[uint32_t(b->first) - base];
        mine = std::max(mine, b->second);
        ++b;
      } else {
        add(*b++);
      }
    } else {
      add(Entry(a->first, std::max(a->second, b->second)));
      ++a;
      ++b;
    }
  }
  sparse = std::move(merged);
}

void Clock::joinTensor(const Clock &other) {
  Entry from(agentTag | tensorAgent, 0);
  for (auto it = std::lower_bound(other.sparse.begin(), other.sparse.end(), from);
       it != other.sparse.end(); ++it)
    raise(it->first, it->second);
}

void Clock::joinOver(const Clock &other) {
  for (auto [key, count] : other.sparse)
    if (key & agentTag && !(key & tensorAgent))
      raise(key | overAgent, count);
}

void Observed::set(uint32_t warp, uint32_t count) {
  if (warp - base >= warps)
    return;
  counts.resize(warps);
  counts[warp - base] = std::max(counts[warp - base], count);
}

void Observed::join(const Observed &other) {
  if (other.counts.empty())
    return;
  if (!warps) {
    *this = other;
    return;
  }
  if (base != other.base || warps != other.warps)
    return; // another cluster's
  counts.resize(warps);
  for (size_t i = 0; i < counts.size(); ++i)
    counts[i] = std::max(counts[i], other.counts[i]);
}

void Clock::clear() {
  std::fill(dense.begin(), dense.end(), 0);
  sparse.clear();
}

} // namespace penstock::emu
