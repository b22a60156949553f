//===- Mutate.cpp - How the fuzzers change PTX ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changed bytes rarely parse. So most changes are made of lines and words: the
// texts start as kernels of the self-test, lines are moved, doubled, removed and
// taken from other kernels, registers and modifiers are exchanged for others
// that exist, numbers for those that lie at the edge of something.
//
//===----------------------------------------------------------------------===//
#include "PTX/InstructionTable.h"
#include "selftest/Builder.h"

#include <cctype>
#include <cstring>
#include <random>

using namespace penstock;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using Random = std::minstd_rand;

const std::vector<std::string> &kernels() {
  static const std::vector<std::string> texts = [] {
    std::vector<emu::selftest::Kernel> all;
    emu::selftest::addBarrierKernels(all);
    emu::selftest::addRingKernels(all);
    emu::selftest::addStoreKernels(all);
    emu::selftest::addClusterKernels(all);
    emu::selftest::addWgmmaKernels(all);
    emu::selftest::addTcgen05Kernels(all);
    std::vector<std::string> list;
    for (const auto &kernel : all)
      list.push_back(kernel.text);
    return list;
  }();
  return texts;
}

template <class T> const T &pick(Random &random, const std::vector<T> &list) {
  return list[random() % list.size()];
}

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// A row of the instruction table with operands that have a chance to fit.
std::string randomInstruction(Random &random) {
  auto forms = ptx::instructionForms();
  const ptx::InstructionForm &form = forms[random() % forms.size()];
  std::string text = "  " + form.name;
  for (const ptx::ModifierSlot &slot : form.slots)
    if (!slot.choices.empty() && (!slot.optional || random() % 3 == 0))
      text += pick(random, slot.choices);
  bool first = true;
  for (const ptx::OperandSpec &spec : form.operands) {
    if (spec.optional && random() % 2)
      continue;
    text += first ? " " : ", ";
    first = false;
    std::string number = std::to_string(random() % 8);
    switch (spec.kind) {
    case 'p':
    case 'q':
      text += "%p" + number;
      break;
    case 'm':
      text += "[" + std::string(random() % 2 ? "%r" : "%rd") + number + "]";
      break;
    case 't':
      text += "[%rd" + number + ", {%r0, %r1}]";
      break;
    case 'v':
      text += "{%r" + number + ", %r1}";
      break;
    case 'i':
      text += number;
      break;
    case 'l':
      text += "L" + number;
      break;
    default:
      text += (spec.bits == 64 ? "%rd" : "%r") + number;
    }
    if (spec.pair)
      text += "|%p" + number;
  }
  return text + ";";
}

/// Exchanges one word of \p line: a number, a register or a modifier.
void changeWord(Random &random, std::string &line) {
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t i = 0; i < line.size();) {
    auto part = [&](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == ':'; };
    size_t end = i + 1;
    if (line[i] == '.' || line[i] == '%' || part(line[i])) {
      while (end < line.size() && part(line[end]))
        ++end;
      words.emplace_back(i, end - i);
    }
    i = end;
  }
  if (words.empty())
    return;
  auto [at, size] = pick(random, words);
  std::string word = line.substr(at, size);
  if (std::isdigit(uint8_t(word[0]))) {
    static const std::vector<std::string> numbers = {
        "0",   "1",    "2",    "7",     "8",     "15",         "16",
        "31",  "32",   "127",  "128",   "255",   "256",        "512",
        "513", "4096", "1024", "65536", "99999", "2147483647", "0xffffffffffffffff"};
    word = pick(random, numbers);
  } else if (word[0] == '%') {
    size_t digits = word.find_first_of("0123456789");
    if (digits != std::string::npos)
      word = word.substr(0, digits) + std::to_string(random() % 40);
  } else if (word[0] == '.') {
    auto forms = ptx::instructionForms();
    const ptx::InstructionForm &form = forms[random() % forms.size()];
    if (!form.slots.empty()) {
      const ptx::ModifierSlot &slot = pick(random, form.slots);
      if (!slot.choices.empty())
        word = pick(random, slot.choices);
    }
  }
  line.replace(at, size, word);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (random() % 10 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(reinterpret_cast<const char *>(data), size);
  if (size < 100 || random() % 50 == 0)
    text = pick(random, kernels());
  std::vector<std::string> lines = splitLines(text);
  for (unsigned changes = 1 + random() % 4; changes && !lines.empty(); --changes) {
    size_t i = random() % lines.size(), j = random() % lines.size();
    switch (random() % 8) {
    case 0:
      lines.erase(lines.begin() + long(i));
      break;
    case 1:
      lines.insert(lines.begin() + long(i), std::string(lines[j]));
      break;
    case 2:
      std::swap(lines[i], lines[j]);
      break;
    case 3:
      lines.insert(lines.begin() + long(i), randomInstruction(random));
      break;
    case 4: {
      std::vector<std::string> other = splitLines(pick(random, kernels()));
      lines.insert(lines.begin() + long(i), pick(random, other));
      break;
    }
    default:
      changeWord(random, lines[i]);
    }
  }
  text.clear();
  for (const std::string &line : lines)
    text += line + "\n";
  size = std::min(text.size(), maxSize);
  memcpy(data, text.data(), size);
  return size;
}
