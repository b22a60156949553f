# Registers that a SASS instruction writes and reads.
#
# Names are R0, R1, .. and UR0, UR1, ..; RZ and URZ do not count. nvdisasm prints only the first
# register of a range, so the mnemonic determines the width.
import re

REGISTER = re.compile(r"\b(U?R)(\d+)\b(\.F32x2|\.64)?")
# Instructions without a result, or with results in predicates only.
NO_RESULT = re.compile(
    r"U?(ISETP|FSETP|HSETP2|DSETP|PLOP3|PSETP|VOTE)\b|FCHK|R2P\b|"
    r"ST[GSL]?\b|STAS|STTM|RED[GS]?\b|LDGSTS|LDGDEPBAR|DEPBAR|SYNCS|BAR|B2R|MEMBAR|FENCE|CCTL|"
    r"ERRBAR|CGAERRBAR|UCGABAR|UTM|UBLK|UTC(?!ATOMSWS)|UGETNEXTWORKID|BRA|BRX|JMP|CALL|RET|EXIT|"
    r"BSSY|BSYNC|BREAK|WARP|NANOSLEEP|PMTRIG|NOP|YIELD|BPT|ENDCOLLECTIVE|RPCMOV|ACQBULK|UVIRTCOUNT")
PAIR = re.compile(r"(F(ADD|MUL|FMA)2|D(ADD|MUL|FMA)|U?IMAD\.WIDE|U?(IADD3?|MOV|SEL)\.64|F2I\.\w*64)\b")
LOAD = re.compile(r"(LD|LDG|LDS|LDL|LDC|LDCU|ULDC|ATOM[GS]?)\b")
MATRIX = re.compile(r"LDSM\.\S*MT?88(\.(\d))?\b")
TENSOR = re.compile(r"LDTM\.(?:\d+dp(\d+)bit\.)?x(\d+)")
WARPGROUP_MMA = re.compile(r"[HIQ]GMMA\.64x(\d+)x\d+\.(\w+)")
WARP_MMA = re.compile(r"[HIQO]MMA\.(?:\S*\.)?\d{4,}\.(\w+)")


def operation_of(text):
    """Returns the mnemonic, its operands, and whether a predicate guards it."""
    guard, _, rest = text.partition(" ") if text.startswith("@") else ("", "", text)
    name, _, operands = rest.strip().partition(" ")
    return name.rstrip(";"), operands, bool(guard)


def width_of(name):
    """Returns the number of registers of an instruction's result."""
    tensor = TENSOR.match(name)
    if tensor:
        return int(tensor.group(2)) * max(1, int(tensor.group(1) or 32) // 64)
    group = WARPGROUP_MMA.match(name)
    if group:
        return int(group.group(1)) // (4 if group.group(2) == "F16" else 2)
    warp = WARP_MMA.match(name)
    if warp:
        return 2 if warp.group(1) == "F16" else 4
    matrix = MATRIX.match(name)
    if matrix:
        return int(matrix.group(2) or 1)
    if LOAD.match(name):
        bits = re.search(r"\.(64|128|256)\b", name)
        return int(bits.group(1)) // 32 if bits else 1
    if name.startswith("CS2R"):
        return 1 if ".32" in name else 2
    return 2 if PAIR.match(name) else 1


def registers_in(operand):
    """Returns the registers of one operand: two for a register pair."""
    names = []
    for kind, number, pair in REGISTER.findall(operand):
        names.append(kind + number)
        if pair:
            names.append(kind + str(int(number) + 1))
    return names


def results_of(text):
    """Returns the registers that an instruction writes."""
    name, operands, _ = operation_of(text)
    if NO_RESULT.match(name):
        return []
    for operand in operands.split(","):
        operand = operand.strip()
        # Predicates can come first: `IADD3 R0, P1, PT, ..`, `SHFL.BFLY PT, R4, ..`.
        if re.fullmatch(r"!?U?P(\d|T)", operand):
            continue
        first = re.match(r"(U?R)(\d+)\b", operand)
        if not first:
            return []
        return [first.group(1) + str(int(first.group(2)) + i) for i in range(width_of(name))]
    return []


def sources_of(text):
    """Returns the registers of each source operand."""
    _, operands, _ = operation_of(text)
    parts = [part.strip() for part in operands.split(",")]
    while parts and re.fullmatch(r"!?U?P(\d|T)", parts[0]):
        parts.pop(0)
    return [registers_in(part) for part in parts[1:] if not re.fullmatch(r"!?U?P(\d|T)", part)]
