// A machine with a stack that interprets a program: one indirect jump for each of its instructions.
enum code { PUSH, ADD, SUB, MUL, AND, DUP, SWAP, DROP, LOAD, STORE, LOOP, HALT };

static word interpret(const u8 *code) {
    static u32 variables[8];
    u32 values[16], top = 0, at = 0;
    for (;;) {
        switch (code[at++]) {
        case PUSH: values[top++] = code[at++]; break;
        case ADD: top--; values[top - 1] += values[top]; break;
        case SUB: top--; values[top - 1] -= values[top]; break;
        case MUL: top--; values[top - 1] *= values[top]; break;
        case AND: top--; values[top - 1] &= values[top]; break;
        case DUP: values[top] = values[top - 1]; top++; break;
        case SWAP: {
            u32 swapped = values[top - 1];
            values[top - 1] = values[top - 2];
            values[top - 2] = swapped;
            break;
        }
        case DROP: top--; break;
        case LOAD: values[top++] = variables[code[at++]]; break;
        case STORE: variables[code[at++]] = values[--top]; break;
        case LOOP: {
            u32 to = code[at++];
            if (--variables[0]) at = to;
            break;
        }
        default: return variables[1];
        }
    }
}

PROGRAM(interpreter) {
    static const u8 code[] = {
        PUSH, 250, PUSH, 5, MUL, STORE, 0, PUSH, 1, STORE, 1,
        // The loop: x = ((x * 13 + counter) & 255) - 7, on the stack.
        LOAD, 1, PUSH, 13, MUL, LOAD, 0, ADD, PUSH, 255, AND, DUP, PUSH, 7, SWAP, SUB, DROP, PUSH, 7, SUB, STORE, 1,
        LOOP, 11, HALT,
    };
    return interpret(code);
}
