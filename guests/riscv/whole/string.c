// Text: its length, copies, words, a search. Bytes one after the other.
#define TEXT 4096
static char text[TEXT + 1], copy[TEXT + 1];

static word length(const char *of) {
    const char *end = of;
    while (*end) end++;
    return end - of;
}

static const char *search(const char *in, const char *what) {
    for (; *in; in++) {
        word i = 0;
        while (what[i] && in[i] == what[i]) i++;
        if (!what[i]) return in;
    }
    return 0;
}

PROGRAM(string) {
    word sum = 0;
    for (u32 i = 0; i < TEXT; i++) {
        u32 it = random() % 32;
        text[i] = it < 26 ? 'a' + it : ' ';
    }
    sum += length(text);
    for (u32 i = 0; i <= TEXT; i++) copy[i] = text[i] >= 'a' ? text[i] - 32 : text[i];
    for (u32 i = 0, inside = 0; i < TEXT; i++) {
        u32 letter = copy[i] != ' ';
        sum += letter && !inside;
        inside = letter;
    }
    static const char *wanted[] = {"qu", "tree", "e e", "zzzz"};
    for (u32 i = 0; i < 4; i++) {
        const char *found = search(text, wanted[i]);
        sum += found ? (word)(found - text) : 1;
    }
    return sum;
}
