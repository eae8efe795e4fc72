#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "core/model/cuda/numeric.h"

namespace lpes::cuda {

/// Runs one block of a kernel's body on the CPU: each GPU thread is a fiber, and a barrier or an exchange between lanes
/// hands over to the next one. Index arithmetic, barriers and fragment layouts are then checked without a GPU.
class CpuBlock {
  public:
    CpuBlock(int threads, std::int64_t block, int blockRow, std::size_t sharedBytes)
        : m_threads(threads),
          m_block(block),
          m_blockRow(blockRow),
          m_shared(sharedBytes / 16 + 1),
          m_exchange(static_cast<std::size_t>(threads)) {}

    class Lane;
    /// body(Lane&) once per thread. False when threads wait for each other at different barriers, which hangs a GPU.
    bool run(const std::function<void(Lane&)>& body);

  private:
    struct Slot {
        std::uint32_t words[8] = {};
    };
    struct alignas(16) Sixteen {
        unsigned char bytes[16];
    };
    struct Fiber {
        ucontext_t context{};
        std::unique_ptr<unsigned char[]> stack;
        enum { Ready, AtWarp, AtBlock, Done } state = Ready;
    };
    /// Waits for the other lanes of the warp, or for the whole block.
    void meet(bool wholeBlock) {
        Fiber& fiber = m_fibers[static_cast<std::size_t>(m_current)];
        fiber.state = wholeBlock ? Fiber::AtBlock : Fiber::AtWarp;
        swapcontext(&fiber.context, &m_main);
    }
    /// Lets threads first … last go on where all of them (that still run) wait for each other.
    bool release(int first, int last, bool wholeBlock);
    static void enter() {
        CpuBlock& self = *s_running;
        self.runCurrent();
    }
    void runCurrent();

    int m_threads;
    std::int64_t m_block;
    int m_blockRow;
    std::vector<Sixteen> m_shared;
    std::vector<Slot> m_exchange;
    std::vector<Fiber> m_fibers;
    const std::function<void(Lane&)>* m_body = nullptr;
    int m_current = 0;
    ucontext_t m_main{};
    static inline CpuBlock* s_running = nullptr;
};

/// The twin of DeviceLane.
class CpuBlock::Lane {
  public:
    Lane(CpuBlock& block, int thread) : m_block(block), m_thread(thread) {}
    int thread() const { return m_thread; }
    int threads() const { return m_block.m_threads; }
    std::int64_t block() const { return m_block.m_block; }
    int blockRow() const { return m_block.m_blockRow; }
    unsigned char* shared() const { return m_block.m_shared.front().bytes; }
    void sync() { m_block.meet(true); }

    template <class Value>
    Value shuffleXor(Value value, int mask) {
        std::memcpy(mine().words, &value, sizeof value);
        m_block.meet(false);
        Value other;
        std::memcpy(&other, m_block.m_exchange[static_cast<std::size_t>(m_thread ^ mask)].words, sizeof other);
        m_block.meet(false);
        return other;
    }

    /// As the PTX manual defines mma.m16n8k16 for 16-bit floats, written from its formulas: element i of a lane's
    /// fragment has, with group = lane / 4 and member = lane % 4,
    ///   A  row = group (+ 8 unless i < 2 or 4 ≤ i < 6), column = 2·member + i % 2 (+ 8 for i ≥ 4)
    ///   B  row = 2·member + i % 2 (+ 8 for i ≥ 2),      column = group
    ///   C  row = group (+ 8 for i ≥ 2),                 column = 2·member + i % 2
    template <class T>
    void multiplyAdd(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
        const std::uint32_t words[8] = {a[0], a[1], a[2], a[3], b0, b1, 0, 0};
        std::memcpy(mine().words, words, sizeof words);
        m_block.meet(false);
        float matrixA[16][16], matrixB[16][8];
        for (int lane = 0; lane < 32; ++lane) {
            T halves[12];
            std::memcpy(halves, m_block.m_exchange[static_cast<std::size_t>(m_thread / 32 * 32 + lane)].words,
                        sizeof halves);
            const int group = lane / 4, member = lane % 4;
            for (int i = 0; i < 8; ++i) {
                const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
                matrixA[row][2 * member + i % 2 + (i >= 4 ? 8 : 0)] = toFloat(halves[i]);
            }
            for (int i = 0; i < 4; ++i) matrixB[2 * member + i % 2 + (i >= 2 ? 8 : 0)][group] = toFloat(halves[8 + i]);
        }
        const int group = m_thread % 32 / 4, member = m_thread % 4;
        for (int i = 0; i < 4; ++i) {
            const int row = i < 2 ? group : group + 8, column = 2 * member + i % 2;
            for (int k = 0; k < 16; ++k) c[i] += matrixA[row][k] * matrixB[k][column];
        }
        m_block.meet(false);
    }

  private:
    Slot& mine() { return m_block.m_exchange[static_cast<std::size_t>(m_thread)]; }
    CpuBlock& m_block;
    int m_thread;
};

inline void CpuBlock::runCurrent() {
    Lane lane(*this, m_current);
    (*m_body)(lane);
    m_fibers[static_cast<std::size_t>(m_current)].state = Fiber::Done;
}

inline bool CpuBlock::run(const std::function<void(Lane&)>& body) {
    constexpr std::size_t kStack = 64 * 1024;
    m_body = &body;
    s_running = this;
    m_fibers = std::vector<Fiber>(static_cast<std::size_t>(m_threads));
    for (Fiber& fiber : m_fibers) {
        fiber.stack.reset(new unsigned char[kStack]);  // not filled: a block has 16 MB of them otherwise
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = kStack;
        fiber.context.uc_link = &m_main;
        makecontext(&fiber.context, &CpuBlock::enter, 0);
    }
    int running = m_threads;
    while (running > 0) {
        for (m_current = 0; m_current < m_threads; ++m_current) {
            Fiber& fiber = m_fibers[static_cast<std::size_t>(m_current)];
            if (fiber.state != Fiber::Ready) continue;
            swapcontext(&m_main, &fiber.context);
            if (fiber.state == Fiber::Done) --running;
        }
        bool released = release(0, m_threads, true);
        for (int warp = 0; warp < m_threads; warp += 32) released = release(warp, warp + 32, false) || released;
        if (!released && running > 0) return false;
    }
    return true;
}

inline bool CpuBlock::release(int first, int last, bool wholeBlock) {
    bool any = false;
    for (int i = first; i < last; ++i) {
        const auto state = m_fibers[static_cast<std::size_t>(i)].state;
        if (state == (wholeBlock ? Fiber::AtBlock : Fiber::AtWarp)) any = true;
        // A thread that has ended is no longer waited for at the block's barrier; a warp's exchange needs all lanes.
        else if (!(wholeBlock && state == Fiber::Done))
            return false;
    }
    for (int i = first; any && i < last; ++i) {
        Fiber& fiber = m_fibers[static_cast<std::size_t>(i)];
        if (fiber.state != Fiber::Done) fiber.state = Fiber::Ready;
    }
    return any;
}

}  // namespace lpes::cuda
