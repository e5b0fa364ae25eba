/* Sparse: arrays of billions of elements of which memory is taken for those pages alone that somebody touches. */
#pragma once

#include "ops/dtype.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace
{

/* Element i of an input: of many magnitudes away from 0, and another one in every page. */
inline float sparse_value(size_t i)
{
    const uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15u;
    return (float)(int32_t)(hash >> 40) * 0x1p-23f - 1.0f + 0x1p-25f;
}

class sparse
{
  protected:
    enum pk_dtype type;
    unsigned char *at;
    size_t n, bytes;

  public:
    sparse(enum pk_dtype type_, size_t n_, int access)
        : type(type_), n(n_), bytes((n_ * pk_dtype_bytes(type_) + page() - 1) / page() * page())
    {
        void *map = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) {
            std::printf("skipped: %zu bytes of address space are not to be had\n", bytes);
            std::exit(77);
        }
        at = static_cast<unsigned char *>(map);
    }
    sparse(const sparse &) = delete;
    ~sparse()
    {
        munmap(at, bytes);
    }
    static size_t page()
    {
        return (size_t)sysconf(_SC_PAGESIZE);
    }
    void *data()
    {
        return at;
    }
    float operator[](size_t i) const
    {
        float v;
        uint16_t narrow;
        if (type == PK_FP32)
            return std::memcpy(&v, at + i * sizeof v, sizeof v), v;
        return std::memcpy(&narrow, at + i * sizeof narrow, sizeof narrow), pk_bf16_to_float(narrow);
    }
};

/* Zeros until a kernel writes. */
class sparse_output : public sparse
{
  public:
    sparse_output(enum pk_dtype type_, size_t n_) : sparse(type_, n_, PROT_READ | PROT_WRITE)
    {
    }
    /* f(i, value) for every element that is not 0. */
    template <typename F> void each_written(const F &f) const
    {
        const size_t in_page = page() / pk_dtype_bytes(type);
        std::vector<unsigned char> there(bytes / page());
        if (mincore(at, bytes, there.data()))
            std::abort();
        for (size_t p = 0; p < there.size(); p++)
            for (size_t i = p * in_page; there[p] & 1 && i < (p + 1) * in_page && i < n; i++)
                if ((*this)[i] != 0)
                    f(i, (*this)[i]);
    }
};

/* Read-only; a page is made when it is first read. */
class sparse_input : public sparse
{
    static std::vector<sparse_input *> &all()
    {
        static std::vector<sparse_input *> v;
        return v;
    }
    void make(size_t offset)
    {
        unsigned char *to = at + offset;
        mprotect(to, page(), PROT_READ | PROT_WRITE);
        for (size_t i = 0; i < page() / pk_dtype_bytes(type); i++) {
            const float v = value(offset / pk_dtype_bytes(type) + i);
            const uint16_t narrow = pk_bf16_of_float(v);
            if (type == PK_FP32)
                std::memcpy(to + i * sizeof v, &v, sizeof v);
            else
                std::memcpy(to + i * sizeof narrow, &narrow, sizeof narrow);
        }
        mprotect(to, page(), PROT_READ);
    }
    static void on_fault(int, siginfo_t *info, void *)
    {
        const auto *where = static_cast<unsigned char *>(info->si_addr);
        for (sparse_input *s : all())
            if (where >= s->at && where < s->at + s->bytes)
                return s->make((size_t)(where - s->at) / page() * page());
        std::signal(SIGSEGV, SIG_DFL); /* nobody's: ends the test */
    }

  public:
    sparse_input(enum pk_dtype type_, size_t n_) : sparse(type_, n_, PROT_NONE)
    {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        all().push_back(this);
    }
    ~sparse_input()
    {
        all().pop_back(); /* the last made goes first */
    }
    float value(size_t i) const
    {
        return type == PK_FP32 ? sparse_value(i) : pk_bf16_to_float(pk_bf16_of_float(sparse_value(i)));
    }
};

} // namespace
