/* A library for LD_PRELOAD that gives a process another wall clock: faster, on another date, set back
 * again and again. `make clocks` runs tests under it, to find those that depend on where a minute or an
 * hour begins, and timeouts that take the wall clock for the monotonic one.
 *
 * The server reads the clock from the vDSO and not by the C library, so that symbols of the library
 * cannot be replaced. The constructor writes a jump over the functions of the vDSO instead, by
 * /proc/self/mem, in this process alone. CLOCK_MONOTONIC and the clocks of CPU time stay the kernel's, as do
 * times of files. For x86-64.
 *
 *   CLOCK_RATE=60         seconds per second; 1 without it
 *   CLOCK_START_MS=N      the time at the base, milliseconds since 1970; the base without it
 *   CLOCK_BASE_MS=N       the true time that is the base: the same for all processes of a test; else each
 *                         process begins at its own start
 *   CLOCK_EVERY_MS=N, CLOCK_STEP_MS=M   sets the clock by M (may be negative) every N ms of true time
 *
 * An answer to a clock that it does not know is the kernel's. If the vDSO cannot be changed, the process
 * ends with a message: a test that ran under the true clock would prove nothing. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL
#define MS_NS 1000000LL

enum { GETTIME = 1, TIMEOFDAY = 2 };

static int64_t base_ns, start_ns, rate, every_ns, step_ns;

/* Reads a clock by the system call: the C library would come back to the changed vDSO. */
static int kernel_clock(clockid_t clock, struct timespec *out) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clock_gettime), "D"((long)clock), "S"(out)
                     : "rcx", "r11", "memory");
    return (int)result;
}

static int64_t true_ns(void) {
    struct timespec now;
    kernel_clock(CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* Computes the other time, nanoseconds since 1970. */
static int64_t other_ns(void) {
    int64_t since = true_ns() - base_ns;
    int64_t steps = every_ns > 0 ? since / every_ns : 0;
    return start_ns + since * rate + steps * step_ns;
}

static int other_gettime(clockid_t clock, struct timespec *out) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE && clock != CLOCK_TAI)
        return kernel_clock(clock, out);
    int64_t ns = other_ns();
    out->tv_sec = ns / SECOND_NS;
    out->tv_nsec = ns % SECOND_NS;
    return 0;
}

static int other_timeofday(struct timeval *out, void *zone) {
    (void)zone;
    if (out != NULL) {
        int64_t ns = other_ns();
        out->tv_sec = ns / SECOND_NS;
        out->tv_usec = ns % SECOND_NS / 1000;
    }
    return 0;
}

static time_t other_time(time_t *out) {
    time_t seconds = other_ns() / SECOND_NS;
    if (out != NULL)
        *out = seconds;
    return seconds;
}

static void stop(const char *what) {
    perror(what);
    _exit(99);
}

/* Writes `mov $to, %rax; jmp *%rax` at the start of a function, which must have room for it. */
static void jump(int memory, const Elf64_Sym *symbol, char *at, void *to) {
    unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    memcpy(code + 2, &to, sizeof to);
    if (symbol->st_size < sizeof code)
        stop("other_clock: a function of the vDSO is too short");
    if (pwrite(memory, code, sizeof code, (off_t)(uintptr_t)at) != (ssize_t)sizeof code)
        stop("other_clock: the vDSO cannot be written");
}

static int64_t number(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? atoll(text) : otherwise;
}

/* Puts the jumps over the functions of the vDSO that tell the time. */
static void change(char *vdso) {
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0)
        stop("other_clock: /proc/self/mem");
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)vdso;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(vdso + head->e_phoff);
    const Elf64_Dyn *entry = NULL;
    char *load = NULL;
    for (int i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type == PT_LOAD && load == NULL)
            load = vdso + part[i].p_offset - part[i].p_vaddr;
        if (part[i].p_type == PT_DYNAMIC)
            entry = (const Elf64_Dyn *)(vdso + part[i].p_offset);
    }
    const Elf64_Sym *symbols = NULL;
    const char *strings = NULL;
    for (; entry != NULL && load != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const Elf64_Sym *)(load + entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB)
            strings = load + entry->d_un.d_ptr;
    }
    int changed = 0;
    /* The linker puts the strings right behind the symbols. */
    for (const Elf64_Sym *symbol = symbols; symbol != NULL && (const char *)(symbol + 1) <= strings;
         symbol++) {
        if (symbol->st_value == 0 || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
            continue;
        const char *name = strings + symbol->st_name;
        char *at = load + symbol->st_value;
        if (strcmp(name, "__vdso_clock_gettime") == 0) {
            jump(memory, symbol, at, (void *)other_gettime);
            changed |= GETTIME;
        } else if (strcmp(name, "__vdso_gettimeofday") == 0) {
            jump(memory, symbol, at, (void *)other_timeofday);
            changed |= TIMEOFDAY;
        } else if (strcmp(name, "__vdso_time") == 0) {
            jump(memory, symbol, at, (void *)other_time);
        }
    }
    close(memory);
    if (changed != (GETTIME | TIMEOFDAY))
        stop("other_clock: the vDSO has other functions");
}

__attribute__((constructor)) static void begin(void) {
    base_ns = number("CLOCK_BASE_MS", true_ns() / MS_NS) * MS_NS;
    start_ns = number("CLOCK_START_MS", base_ns / MS_NS) * MS_NS;
    rate = number("CLOCK_RATE", 1);
    every_ns = number("CLOCK_EVERY_MS", 0) * MS_NS;
    step_ns = number("CLOCK_STEP_MS", 0) * MS_NS;
    char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
    if (vdso == NULL)
        stop("other_clock: there is no vDSO");
    change(vdso);
}
