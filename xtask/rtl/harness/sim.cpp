// Usage: sim IMAGE TRACE LATENCY LIMIT ENTRY STOP STOPS [IRQ-AT IRQ-EVERY IRQ-PHASES IRQ-HANDLER]
//
// IMAGE is loaded at the start of RAM. TRACE receives 24 bytes for each instruction that retires from ENTRY on, until STOP has
// retired STOPS times. With the other arguments, each time IRQ-EVERY instructions have retired at IRQ-AT the external
// interrupt is raised so many cycles later, from 0 to IRQ-PHASES - 1 one more each time, until an instruction retires at
// IRQ-HANDLER; TRACE receives a record when the core sees it.
#include "sim.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <verilated.h>

double sc_time_stamp() { return 0; }

// Jumps to the entry, which is the word behind it: auipc t0, 0; lw(u) t0, 16(t0); li a1, 0; jr t0. Rocket comes from a ROM of
// its own, which passes a device tree in a1.
static const uint32_t BOOT[] = {0x00000297, 0x0102e283, 0x00000593, 0x00028067};

uint8_t *Sim::bytes(uint64_t address) {
    uint64_t offset = (address & 0xffffffff) - RAM;
    return offset < RAM_BYTES ? &ram[offset & ~7ull] : nullptr;
}

bool Sim::read(uint64_t address, uint64_t &data) {
    data = 0;
    if (uint8_t *at = bytes(address)) {
        memcpy(&data, at, 8);
        return true;
    }
    // The boot code is repeated every 128 bytes: cores start at different offsets.
    if (address >= ROM && address < ROM + 4096) {
        uint32_t words[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            uint64_t index = (address & 0x78) / 4 + i;
            words[i] = index < 4 ? BOOT[index] : index == 4 ? (uint32_t)entry : 0;
#ifdef RV32
            if (index == 1) words[i] = 0x0102a283;
#endif
        }
        memcpy(&data, words, 8);
        return true;
    }
    if (address < CLINT || address >= CLINT + 0x10000) return false;
    switch (address & 0xfff8) {
    case 0x0000: data = msip; break;
    case 0x4000: data = mtimecmp; break;
    case 0xbff8: data = mtime; break;
    }
    return true;
}

bool Sim::write(uint64_t address, uint64_t data, uint8_t strobe) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++)
        if (strobe >> i & 1) mask |= 0xffull << 8 * i;
    auto merge = [&](uint64_t &old) { old = (old & ~mask) | (data & mask); };
    if (uint8_t *at = bytes(address)) {
        uint64_t old;
        memcpy(&old, at, 8);
        merge(old);
        memcpy(at, &old, 8);
        return true;
    }
    if (address < CLINT || address >= CLINT + 0x10000) return false;
    switch (address & 0xfff8) {
    case 0x0000: merge(msip); break;
    case 0x4000: merge(mtimecmp); break;
    case 0xbff8: merge(mtime); break;
    }
    return true;
}

bool Sim::read32(uint64_t address, uint32_t &data) {
    uint64_t both;
    bool known = read(address, both);
    data = (uint32_t)(both >> (address & 4) * 8);
    return known;
}

bool Sim::write32(uint64_t address, uint32_t data, uint8_t strobe) {
    int half = address >> 2 & 1;
    return write(address, (uint64_t)data << 32 * half, strobe << 4 * half);
}

void Sim::retire(uint64_t pc, bool trapped) {
    started |= pc == entry;
    if (!started || done) return;
    struct { uint64_t cycle, pc; uint32_t word, trapped; } record = {cycle, pc, 0, trapped};
    uint64_t offset = (pc & 0xffffffff) - RAM;
    for (unsigned i = 0; i < 4 && offset + i < RAM_BYTES; i++) record.word |= (uint32_t)ram[offset + i] << 8 * i;
    if ((record.word & 3) != 3) record.word &= 0xffff;
    fwrite(&record, sizeof record, 1, trace);
    if (trapped) return;
    done = pc == stop && --stops == 0;
    if (pc == irq_at && !external && raise == ~0ull && phase < irq_phases && ++seen == irq_every) {
        seen = 0;
        raise = cycle + 1 + phase++;
    }
    if (external && pc == irq_handler) external = false;
}

void Sim::see() {
    if (!started || done) return;
    struct { uint64_t cycle, pc; uint32_t word, trapped; } record = {cycle, 0, 0, 2};
    fwrite(&record, sizeof record, 1, trace);
}

void Sim::tick() {
    cycle++;
    if (raise <= cycle) {
        external = true;
        raise = ~0ull;
        if (!behind) see();
    }
    if (cycle % 100 == 0) mtime++;
}

int main(int count, char **words) {
    if (count < 8) return fprintf(stderr, "usage: see sim.cpp\n"), 2;
    Sim sim;
    auto number = [&](int i) { return i < count ? strtoull(words[i], nullptr, 0) : 0; };
    FILE *file = fopen(words[1], "rb");
    if (!file) return perror(words[1]), 1;
    size_t size = fread(sim.ram.data(), 1, RAM_BYTES, file);
    fclose(file);
    if (!size) return fprintf(stderr, "%s is empty\n", words[1]), 1;
    sim.latency = number(3), sim.limit = number(4), sim.entry = number(5), sim.stop = number(6), sim.stops = number(7);
    sim.irq_at = number(8), sim.irq_every = number(9), sim.irq_phases = number(10), sim.irq_handler = number(11);
    sim.trace = fopen(words[2], "wb");
    if (!sim.trace) return perror(words[2]), 1;
    Verilated::randReset(0);
    simulate(sim);
    if (fclose(sim.trace)) return perror(words[2]), 1;
    if (!sim.done) return fprintf(stderr, "STOP was not reached in %s cycles\n", words[4]), 1;
    return 0;
}
