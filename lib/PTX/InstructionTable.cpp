//===- InstructionTable.cpp - The one table of instructions ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/InstructionTable.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <unordered_map>

namespace penstock::ptx {
namespace {

struct NamedSet {
  const char *name;
  const char *choices;
};

constexpr NamedSet namedSets[] = {
    {"$int", ".u16|.u32|.u64|.s16|.s32|.s64"},
    {"$bitsp", ".pred|.b16|.b32|.b64"},
    {"$bits", ".b16|.b32|.b64"},
    {"$bit16p", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64"},
    {"$mem", ".b8|.b16|.b32|.b64|.b128|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|"
             ".f16|.bf16|.f32|.f64"},
    {"$rndany", ".rn|.rz|.rm|.rp|.rni|.rzi|.rmi|.rpi"},
    {"$rnd", ".rn|.rz|.rm|.rp"},
    {"$cmp", ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs"},
    {"$fcmp", ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|"
              ".nan"},
    {"$cvtnum", ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f16|.bf16|.f32|.f64"},
    {"$scope", ".cta|.cluster|.gpu|.sys"},
    {"$sem", ".relaxed|.acquire|.release|.acq_rel"},
    {"$spaceld", ".const|.global|.local|.param|.param::entry|.param::func|"
                 ".shared|.shared::cta|.shared::cluster"},
    {"$spacest", ".global|.local|.param|.param::func|.shared|.shared::cta|"
                 ".shared::cluster"},
    {"$spaceat", ".global|.shared|.shared::cta|.shared::cluster"},
    {"$smem", ".shared|.shared::cta|.shared::cluster"},
    {"$cop", ".ca|.cg|.cs|.lu|.cv"},
    {"$l1ev", ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|"
              ".L1::evict_last|.L1::no_allocate"},
    {"$l2ev", ".L2::evict_normal|.L2::evict_first|.L2::evict_last"},
    {"$l2pf", ".L2::64B|.L2::128B|.L2::256B"},
    {"$xnum", ".x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128"},
    {"$mx", ".e4m3|.e5m2|.e2m3|.e3m2|.e2m1"},
    {"$collector", ".collector::a::fill|.collector::a::use|.collector::a::lastuse|"
                   ".collector::a::discard"},
    {"$collectorb", ".collector::b0::fill|.collector::b0::use|.collector::b0::lastuse|"
                    ".collector::b0::discard|.collector::b1::fill|.collector::b1::use|"
                    ".collector::b1::lastuse|.collector::b1::discard|.collector::b2::fill|"
                    ".collector::b2::use|.collector::b2::lastuse|.collector::b2::discard|"
                    ".collector::b3::fill|.collector::b3::use|.collector::b3::lastuse|"
                    ".collector::b3::discard"},
};

/// Instructions that are left out on purpose.
struct Refusal {
  std::string_view prefix;
  const char *reason;
};

constexpr Refusal refusals[] = {
    {"multimem.", "it accesses memory of several GPUs through a multicast object, and the "
                  "emulated driver has none"},
    {"tcgen05.mma.ws.sp", "the ISA gives the layout of its metadata by figures only"},
};

/// m64n8k16 to m64n256k16 for one k.
std::string wgmmaShapes(unsigned k) {
  std::string text;
  for (unsigned n = 8; n <= 256; n += 8)
    text += (text.empty() ? "" : "|") + std::string(".m64n") + std::to_string(n) + "k" +
            std::to_string(k);
  return text;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (from <= text.size()) {
    size_t to = std::min(text.find(at, from), text.size());
    if (to > from)
      parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::string expand(std::string word) {
  for (unsigned k : {8u, 16u, 32u, 64u})
    if (word == "$wgshape" + std::to_string(k))
      return wgmmaShapes(k);
  std::string out;
  for (const std::string &part : split(word, '|')) {
    std::string text = part;
    for (const NamedSet &set : namedSets)
      if (part == set.name)
        text = set.choices;
    out += (out.empty() ? "" : "|") + text;
  }
  return out;
}

/// A row of the table, or the name of the family of those that follow.
struct Row {
  const char *name, *modifiers = nullptr, *operands = nullptr;
  unsigned version = 0, arch = 0;

  bool isFamily() const { return !modifiers; }
};

/// Data and not code, which would take long to compile.
constexpr Row rows[] = {
#define PTX_FAMILY(NAME) {NAME},
#define PTX_FORM(NAME, MODIFIERS, OPERANDS, VERSION, ARCH)                                         \
  {NAME, MODIFIERS, OPERANDS, VERSION, ARCH},
#include "PTX/Instructions.def"
};

InstructionForm makeForm(const char *family, const Row &row) {
  InstructionForm form;
  form.family = family;
  form.name = row.name;
  form.modifierText = row.modifiers;
  form.operandText = row.operands;
  form.version = row.version;
  form.archSpecific = row.arch > 900;
  form.arch = form.archSpecific ? row.arch / 10 : row.arch;
  for (std::string word : split(row.modifiers, ' ')) {
    ModifierSlot slot;
    if (word.back() == '?') {
      slot.optional = true;
      word.pop_back();
    }
    slot.choices = split(expand(word), '|');
    form.slots.push_back(std::move(slot));
  }
  for (std::string word : split(row.operands, ' ')) {
    OperandSpec spec;
    spec.kind = word[0];
    if (word.back() == '?') {
      spec.optional = true;
      word.pop_back();
    }
    if (word.size() > 2 && word.substr(word.size() - 2) == "|p") {
      spec.pair = true;
      word.resize(word.size() - 2);
    }
    if (size_t colon = word.find(':'); colon != std::string::npos) {
      std::string width = word.substr(colon + 1);
      spec.bits = width == "t" ? -1 : width == "u" ? -2 : width == "w" ? -3 : std::stoi(width);
    }
    form.operands.push_back(spec);
  }
  return form;
}

struct Table {
  std::vector<InstructionForm> forms;
  std::unordered_map<std::string, std::vector<const InstructionForm *>> byName;

  Table() {
    const char *family = "";
    for (const Row &row : rows)
      if (row.isFamily())
        family = row.name;
      else
        forms.push_back(makeForm(family, row));
    for (const InstructionForm &form : forms)
      byName[form.name].push_back(&form);
  }
};

const Table &table() {
  static const Table instance;
  return instance;
}

/// Puts every modifier into a slot. On failure \p bad is the first modifier
/// that no slot takes, or the empty text if a required one is missing.
bool matchModifiers(const InstructionForm &form, std::span<const std::string_view> modifiers,
                    std::string_view &bad, const ModifierSlot *&missing) {
  std::vector<bool> used(form.slots.size());
  size_t lastType = 0;
  for (std::string_view modifier : modifiers) {
    bool isType = typeFromName(modifier) != Type::None;
    bool placed = false;
    for (size_t i = isType ? lastType : 0; i < form.slots.size() && !placed; ++i) {
      const ModifierSlot &slot = form.slots[i];
      if (used[i] ||
          std::find(slot.choices.begin(), slot.choices.end(), modifier) == slot.choices.end())
        continue;
      used[i] = placed = true;
      if (isType)
        lastType = i;
    }
    if (!placed) {
      bad = modifier;
      return false;
    }
  }
  for (size_t i = 0; i < form.slots.size(); ++i)
    if (!used[i] && !form.slots[i].optional) {
      missing = &form.slots[i];
      return false;
    }
  return true;
}

using Kind = Operand::Kind;

bool kindFits(const OperandSpec &spec, const Operand &operand, const Function &function) {
  auto isPredicate = [&](const Operand &o) {
    return o.kind == Kind::Register && o.index < function.registers.size() &&
           function.registers[o.index].type == Type::Pred;
  };
  switch (spec.kind) {
  case 'd':
    if (operand.kind == Kind::Pair)
      return spec.pair;
    return operand.kind == Kind::Register || operand.kind == Kind::Sink;
  case 'q':
    if (operand.kind == Kind::Pair)
      return spec.pair;
    return operand.kind == Kind::Sink || isPredicate(operand);
  case 'p':
    return isPredicate(operand) || operand.kind == Kind::Immediate;
  case 'a':
    return operand.kind == Kind::Register || operand.kind == Kind::Special ||
           operand.kind == Kind::Immediate || operand.kind == Kind::Float ||
           operand.kind == Kind::Variable || operand.kind == Kind::Function ||
           operand.kind == Kind::Address;
  case 'm':
  case 't':
    return operand.kind == Kind::Address && (operand.elements.size() > 1) == (spec.kind == 't');
  case 'v':
    return operand.kind != Kind::Address && operand.kind != Kind::Pair &&
           operand.kind != Kind::Label && operand.kind != Kind::Targets;
  case 'l':
    return operand.kind == Kind::Label || operand.kind == Kind::Targets;
  case 'i':
    return operand.kind == Kind::Immediate || operand.kind == Kind::Float;
  case 'f':
    return operand.kind == Kind::Function || operand.kind == Kind::Register;
  }
  return false;
}

/// Address only stands for a plain source where the row says so (`a` of
/// tcgen05.mma, which takes a descriptor or a tensor-memory address).
bool addressAllowed(const InstructionForm &form, const OperandSpec &spec) {
  return spec.kind == 'm' || spec.kind == 't' || form.name == "tcgen05.mma" ||
         form.name == "tcgen05.mma.ws";
}

bool matchOperands(const InstructionForm &form, const Instruction &inst, const Function &function,
                   std::string &why) {
  size_t next = 0;
  size_t required = 0;
  for (const OperandSpec &spec : form.operands)
    required += !spec.optional;
  size_t spare = inst.operands.size() > required ? inst.operands.size() - required : 0;
  for (const OperandSpec &spec : form.operands) {
    if (spec.optional) {
      if (!spare)
        continue;
      if (next < inst.operands.size() && !kindFits(spec, inst.operands[next], function))
        continue;
      --spare;
    }
    if (next >= inst.operands.size()) {
      why = "too few operands";
      return false;
    }
    const Operand &operand = inst.operands[next];
    if (!kindFits(spec, operand, function) ||
        (operand.kind == Kind::Address && !addressAllowed(form, spec))) {
      why = "operand " + std::to_string(next + 1) + " is of the wrong kind";
      return false;
    }
    const Operand *reg = &operand;
    if (operand.kind == Kind::Pair)
      reg = &operand.elements[0];
    if (spec.bits && reg->kind == Kind::Register && reg->index < function.registers.size()) {
      int want = spec.bits;
      if (want == -1)
        want = int(typeBits(inst.type(0)));
      else if (want == -2)
        want = int(typeBits(inst.type(1)));
      else if (want == -3)
        want = int(2 * typeBits(inst.type(0)));
      int have = int(typeBits(function.registers[reg->index].type));
      // 8-bit values live in 16-bit registers, and conversions accept wider
      // registers than their type.
      bool wider = form.name == "cvt" && have > want && have != 1;
      if (want == 8)
        wider = have >= 16;
      if (want && have != want && !wider) {
        why = "operand " + std::to_string(next + 1) + " is a register of " + std::to_string(have) +
              " bits where " + std::to_string(want) + " are needed";
        return false;
      }
    }
    ++next;
  }
  if (next != inst.operands.size()) {
    why = "too many operands";
    return false;
  }
  return true;
}

} // namespace

std::span<const InstructionForm> instructionForms() { return table().forms; }

std::vector<std::string_view> splitOpcode(std::string_view opcode) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  for (size_t i = 1; i <= opcode.size(); ++i)
    if (i == opcode.size() || opcode[i] == '.') {
      parts.push_back(opcode.substr(from, i - from));
      from = i;
    }
  return parts;
}

bool matchInstruction(Instruction &inst, const Function &function, const Module &module,
                      MatchFailure &failure) {
  const Table &all = table();
  std::vector<std::string_view> parts = splitOpcode(inst.opcode);
  // The longest name that begins the opcode decides; shorter names are tried
  // only if it is not in the table.
  bool known = false;
  std::string_view bad;
  const ModifierSlot *missing = nullptr;
  std::string operandProblem;
  const InstructionForm *tooNew = nullptr;
  size_t bestPlaced = 0;
  for (size_t n = parts.size(); n > 0; --n) {
    size_t length = size_t(parts[n - 1].data() + parts[n - 1].size() - inst.opcode.data());
    auto found = all.byName.find(inst.opcode.substr(0, length));
    if (found == all.byName.end())
      continue;
    known = true;
    std::span<const std::string_view> rest(parts.data() + n, parts.size() - n);
    for (const InstructionForm *form : found->second) {
      std::string_view wrong;
      const ModifierSlot *absent = nullptr;
      if (!matchModifiers(*form, rest, wrong, absent)) {
        size_t placed = wrong.empty() ? rest.size() : size_t(wrong.data() - inst.opcode.data());
        if (placed >= bestPlaced) {
          bestPlaced = placed;
          bad = wrong;
          missing = absent;
        }
        continue;
      }
      inst.modifiers.assign(rest.begin(), rest.end());
      std::string why;
      if (!matchOperands(*form, inst, function, why)) {
        if (operandProblem.empty() || why.find("bits") != std::string::npos)
          operandProblem = why;
        continue;
      }
      if (module.version < form->version || module.arch < form->arch ||
          (form->archSpecific && !module.archSpecific)) {
        tooNew = form;
        continue;
      }
      inst.form = form;
      return true;
    }
  }
  if (tooNew) {
    failure.code = PtxTarget;
    failure.message = "`" + inst.opcode + "` needs PTX " + std::to_string(tooNew->version / 10) +
                      "." + std::to_string(tooNew->version % 10) + " and sm_" +
                      std::to_string(tooNew->arch) + (tooNew->archSpecific ? "a" : "") +
                      "; the module says PTX " + std::to_string(module.version / 10) + "." +
                      std::to_string(module.version % 10) + " and " + module.target;
  } else if (!operandProblem.empty()) {
    failure.code = PtxOperands;
    failure.message = "`" + inst.opcode + "`: " + operandProblem;
  } else if (!known) {
    failure.code = PtxUnknownInstruction;
    failure.message = "`" + inst.opcode + "` is not an instruction we support";
  } else if (!bad.empty()) {
    failure.code = PtxUnsupportedModifier;
    failure.message =
        "`" + inst.opcode + "`: modifier `" + std::string(bad) + "` is not supported here";
  } else {
    failure.code = PtxUnsupportedModifier;
    failure.message = "`" + inst.opcode + "`: a modifier is missing";
    if (missing && missing->choices.size() < 20) {
      failure.message += ", one of";
      for (const std::string &choice : missing->choices)
        failure.message += " " + choice;
    }
  }
  for (const Refusal &refusal : refusals)
    if (!tooNew && inst.opcode.compare(0, refusal.prefix.size(), refusal.prefix) == 0)
      failure.message += std::string(": ") + refusal.reason;
  return false;
}

std::string instructionPage(bool (*executed)(const InstructionForm &)) {
  std::string page = "# Supported PTX instructions\n\n"
                     "Generated by `penstock-emu coverage --markdown` from the instruction "
                     "table; do not edit.\nA modifier ending in `?` is optional; `$` names "
                     "are sets listed at the end. Operands: d destination,\na source, p and "
                     "q predicates, m address, t tensor map with coordinates, v vector or "
                     "scalar, i immediate,\nl label, f function; the number after a colon is "
                     "the width in bits (t, u: of the first, second type; w: doubled).\n";
  std::string family;
  for (const InstructionForm &form : instructionForms()) {
    if (form.family != family) {
      family = form.family;
      page += "\n## " + family +
              "\n\n| instruction | modifiers | operands | PTX | from | executed "
              "|\n|---|---|---|---|---|---|\n";
    }
    auto cell = [](std::string text) {
      std::string out;
      for (char c : text)
        out += c == '|' ? "\\|" : std::string(1, c);
      return out.empty() ? std::string(" ") : "`" + out + "`";
    };
    page += "| `" + form.name + "` | " + cell(form.modifierText) + " | " + cell(form.operandText) +
            " | " + std::to_string(form.version / 10) + "." + std::to_string(form.version % 10) +
            " | sm_" + std::to_string(form.arch) + (form.archSpecific ? "a" : "") + " | " +
            (executed(form) ? "yes" : "no") + " |\n";
  }
  page += "\n## Sets\n\n";
  for (const NamedSet &set : namedSets)
    page += "- `" + std::string(set.name) + "`: `" + set.choices + "`\n";
  page += "- `$wgshape8`, `$wgshape16`, `$wgshape32`: `.m64n8` to `.m64n256` in "
          "steps of 8, with that k\n";
  return page;
}

} // namespace penstock::ptx
