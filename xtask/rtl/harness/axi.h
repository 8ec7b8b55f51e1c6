// A memory behind an AXI4 port of 64 bits: the first word of an answer comes after the latency, each other word one cycle
// later. It always takes requests; an address and its data may come in either order.
#pragma once
#include "sim.h"

struct Axi {
    // What the core drives.
    struct Request {
        bool valid;
        uint64_t id, address;
        unsigned length, size, burst;
        bool exclusive;
        unsigned atomic;  // AXI5's AWATOP
    } ar = {}, aw = {};
    bool w_valid = false, w_last = false, r_ready = true, b_ready = true;
    uint64_t w_data = 0;
    uint8_t w_strobe = 0;

    // What memory drives in this cycle.
    struct Word {
        uint64_t id, data;
        bool last;
        unsigned answer;  // 0 done, 1 done exclusively, 3 nothing there
    } r = {}, b = {};
    bool r_valid = false, b_valid = false;

    // Before the core sees the cycle.
    void drive(uint64_t now) {
        if ((r_valid = reads.ready(now))) r = reads.queue.front().second;
        if ((b_valid = writes.ready(now))) b = writes.queue.front().second;
    }

    // At the end of the cycle, with what the core drives.
    void take(Sim &sim) {
        if (r_valid && r_ready) {
            reads.pop();
            // One word in a cycle.
            if (reads.ready(sim.cycle)) reads.queue.front().first = sim.cycle + 1;
        }
        if (b_valid && b_ready) writes.pop();
        if (ar.valid) {
            for (unsigned i = 0; i <= ar.length; i++) {
                Word word = {ar.id, 0, i == ar.length, 0};
                word.answer = !sim.read(place(ar, i), word.data) ? 3 : ar.exclusive;
                reads.push(sim.cycle + sim.latency + i, word);
            }
            if (ar.exclusive) reserved = ar.address;
        }
        if (aw.valid) addresses.push_back(aw);
        if (w_valid) data.push_back({w_data, w_strobe});
        while (!addresses.empty() && !data.empty()) {
            Request &to = addresses.front();
            auto [word, strobe] = data.front();
            data.pop_front();
            uint64_t due = sim.cycle + sim.latency;
            bool known = true, fails = to.exclusive && reserved != to.address;
            if (to.atomic) {
                uint64_t old = 0;
                known = sim.read(to.address, old);
                reads.push(due, {to.id, old, true, 0});
                word = combine(to, old, word);
            }
            if (!fails) known &= sim.write(place(to, beat), word, strobe);
            if (to.exclusive) reserved = ~0ull;
            if (beat++ == to.length) {
                writes.push(due, {to.id, 0, true, !known ? 3u : to.exclusive && !fails});
                addresses.pop_front();
                beat = 0;
            }
        }
    }

  private:
    Delayed<Word> reads, writes;
    std::deque<Request> addresses;
    std::deque<std::pair<uint64_t, uint8_t>> data;
    unsigned beat = 0;
    uint64_t reserved = ~0ull;

    // What an atomic operation writes: in the part of the word that it is about.
    static uint64_t combine(const Request &to, uint64_t old, uint64_t operand) {
        if (to.atomic == 0x30) return operand;
        unsigned shift = to.size == 2 ? (to.address & 4) * 8 : 0;
        auto part = [&](uint64_t word) { return to.size == 2 ? (int64_t)(int32_t)(word >> shift) : (int64_t)word; };
        int64_t a = part(old), b = part(operand), all = 0;
        switch (to.atomic & 7) {
        case 0: all = a + b; break;
        case 1: all = a & ~b; break;
        case 2: all = a ^ b; break;
        case 3: all = a | b; break;
        case 4: all = a > b ? a : b; break;
        case 5: all = a < b ? a : b; break;
        case 6: all = (uint64_t)a > (uint64_t)b ? a : b; break;
        case 7: all = (uint64_t)a < (uint64_t)b ? a : b; break;
        }
        return (uint64_t)all << shift;
    }

    // The address of a word of a burst; type 2 wraps around.
    static uint64_t place(const Request &request, unsigned i) {
        uint64_t address = request.address + ((uint64_t)i << request.size);
        if (request.burst != 2) return address;
        uint64_t bytes = (uint64_t)(request.length + 1) << request.size;
        return (request.address & ~(bytes - 1)) | (address & (bytes - 1));
    }
};
