# Reads the listing of nvdisasm and finds the loops that matter.
#
# Finds natural loops: a back edge leads to a block that dominates its source. Waits retry out of
# line, after the kernel, and jump back into the loop, so a backward branch alone is not a loop.
import re

MULTIPLY = re.compile(r"([HIQ]GMMA|[HIQO]MMA|UTC[A-Z]*MMA)\b")
COPY = re.compile(r"(UTMALDG|UBLKCP|LDGSTS)\b")
POWER = re.compile(r"MUFU\.EX2\b")
# Commits a group of async MMAs, and waits for all but the latest N groups.
COMMIT = re.compile(r"HGMMA\b.*\bgsb0\b")
AWAIT = re.compile(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x([0-9a-f]+)")
ACCESS = re.compile(r"\b(LDG|STG)\b")
WIDE = re.compile(r"\b(LDG|STG)\.\S*128\b")

LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?);")
TARGET = re.compile(r"\.L_x_\d+")


class Block:
    def __init__(self):
        self.instructions = []  # (address, text)
        self.successors = []
        self.falls_through = True


class Code:
    def __init__(self, blocks):
        self.blocks = blocks
        self.instructions = sum(
            sum("NOP" != text.split()[0] for _, text in block.instructions) for block in blocks)
        texts = [text for block in blocks for _, text in block.instructions]
        self.accesses = sum(bool(ACCESS.search(text)) for text in texts)
        self.wide = sum(bool(WIDE.search(text)) for text in texts)


class Loop:
    """A natural loop. `whole` holds all of its blocks. `body` ends at the last back edge, and omits
    blocks that ptxas placed after it: retries of waits, inner loops."""

    def __init__(self, head, whole, last, code):
        self.head, self.whole = head, whole
        self.body = body = {index for index in whole if head <= index <= last}
        lines = [line for index in sorted(body) for line in code.blocks[index].instructions]
        self.first = lines[0][0]
        self.last = lines[-1][0]
        self.size = len(lines)
        self.counts = {kind: sum(bool(pattern.search(text)) for _, text in lines)
                       for kind, pattern in (("m", MULTIPLY), ("c", COPY), ("x", POWER),
                                             ("g", ACCESS), ("w", WIDE))}
        self.counts["u"] = powers_under_products([text for _, text in lines])


def powers_under_products(texts):
    """Counts the exponentials of an iteration that execute while a warpgroup MMA is in flight."""
    pending = 0
    for _ in range(2):  # the second pass is the steady state
        overlapped = 0
        for text in texts:
            awaited = AWAIT.search(text)
            if awaited:
                pending = min(pending, int(awaited.group(1), 16))
            pending += bool(COMMIT.search(text))
            overlapped += pending > 0 and bool(POWER.search(text))
    return overlapped


def operation(text):
    """The mnemonic, and whether a predicate guards it."""
    words = text.split()
    guarded = words[0].startswith("@")
    return words[1 if guarded else 0], guarded


def is_branch_call(text):
    return bool(re.search(r"\bCALL\.\S+ `\(\.L_x_", text))


def read_sass(listing):
    blocks, labels = [Block()], {}
    convergence = {}
    for line in listing.splitlines():
        label = LABEL.match(line)
        if label:
            if blocks[-1].instructions:
                blocks.append(Block())
            labels[label.group(1)] = len(blocks) - 1
            continue
        found = INSTRUCTION.search(line)
        if not found:
            continue
        address, text = int(found.group(1), 16), found.group(2).strip()
        # Functions follow each other; each starts at address 0.
        if address == 0 and blocks[-1].instructions:
            blocks[-1].falls_through = False
            blocks.append(Block())
        block = blocks[-1]
        block.instructions.append((address, text))
        name, guarded = operation(text)
        targets = TARGET.findall(line)
        if name.startswith("BSSY") and targets:
            convergence[re.search(r"B\d+", text).group(0)] = targets[0]
        elif name.startswith("BSYNC"):
            # Threads go on where the barrier was announced to end.
            barrier = re.search(r"B\d+", text)
            if barrier and barrier.group(0) in convergence:
                block.successors.append(convergence[barrier.group(0)])
            blocks.append(Block())
        elif name.startswith(("BRA", "BRX", "JMP")) or is_branch_call(text):
            # A call of a label is a branch for which threads need not converge.
            block.successors += targets
            conditional = guarded or re.search(r"\b(UP|!UP|P|!P)\d", text.split(name, 1)[1])
            block.falls_through = bool(conditional) or "DIV" in name
            blocks.append(Block())
        elif name.startswith(("EXIT", "RET")) and not guarded:
            block.falls_through = False
            blocks.append(Block())
    for index, block in enumerate(blocks):
        block.successors = [labels[target] for target in block.successors if target in labels]
        if block.falls_through and index + 1 < len(blocks):
            block.successors.append(index + 1)
    return Code(blocks)


def reachable(blocks, without=None):
    """Blocks that the first one leads to, if one of them is taken out."""
    if without == 0:
        return set()
    seen, open_ = {0}, [0]
    while open_:
        for successor in blocks[open_.pop()].successors:
            if successor != without and successor not in seen:
                seen.add(successor)
                open_.append(successor)
    return seen


def natural_loops(code):
    """Returns all loops, inner and outer."""
    blocks = code.blocks
    alive = reachable(blocks)
    predecessors = {index: [] for index in alive}
    for index in alive:
        for successor in blocks[index].successors:
            predecessors[successor].append(index)
    dominated = {}
    ends = {}
    for index in sorted(alive):
        for head in blocks[index].successors:
            if head > index:
                continue
            if head not in dominated:
                dominated[head] = alive - reachable(blocks, head)
            if index in dominated[head]:
                ends.setdefault(head, set()).add(index)
    loops = []
    for head, latches in ends.items():
        body, open_ = {head}, list(latches)
        while open_:
            index = open_.pop()
            if index not in body:
                body.add(index)
                open_ += predecessors[index]
        loops.append(Loop(head, body, max(latches), code))
    return sorted(loops, key=lambda loop: loop.first)


def loops_of(code):
    """Returns the innermost loops with copies, MMAs, exponentials or global memory accesses."""
    loops = natural_loops(code)

    def is_innermost(loop):
        inner = [other for other in loops if other.whole < loop.whole]
        return any(count and not any(other.counts[kind] for other in inner)
                   for kind, count in loop.counts.items())

    return list(filter(is_innermost, loops))


def main_loops(code, loops):
    """Returns the loops in which a kernel spends its time: innermost loops with MMAs or
    exponentials, and innermost loops of load warps; if there are none, innermost loops that access
    global memory. Loops in which ptxas serializes groups of lanes do not count."""
    loops = [loop for loop in loops
             if not any("BRA.U.ANY" in text for index in loop.whole
                        for _, text in code.blocks[index].instructions[-1:]
                        if loop.head in code.blocks[index].successors)]
    kinds = "mx" if any(loop.counts["m"] + loop.counts["x"] for loop in loops) else "gc"

    def innermost(kinds, among):
        chosen = [loop for loop in among if any(loop.counts[kind] for kind in kinds)]
        return [loop for loop in chosen if not any(other.whole < loop.whole for other in chosen)]

    main = innermost(kinds, loops)
    loads = innermost("c", [loop for loop in loops
                            if not any(loop.whole & other.whole for other in main)])
    return sorted(main + loads, key=lambda loop: loop.first)


def retries(code):
    """Returns the out-of-line blocks that retry a failed wait."""
    waits = {index for index, block in enumerate(code.blocks)
             if any("SYNCS.PHASECHK" in text for _, text in block.instructions)}
    return {index for index in waits if index in code.blocks[index].successors
            and all(other in waits for other, block in enumerate(code.blocks)
                    if other != index and index in block.successors)}
