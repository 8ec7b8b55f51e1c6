/* Says each signal that it receives, with its value, until SIGRTMAX. A SIGUSR1 with a value sends the signal of that number to the
 * group and to the parent. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    unsigned long all = ~0UL;
    /* The C library would leave out two signals that it uses itself. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (;;) {
        siginfo_t info;
        int signal = syscall(SYS_rt_sigtimedwait, &all, &info, 0, 8);
        if (signal < 0)
            continue;
        int value = info.si_code == SI_QUEUE ? info.si_value.sival_int : 0;
        printf("got %d %d\n", signal, value);
        fflush(stdout);
        if (signal == SIGRTMAX)
            return 0;
        if (signal == SIGUSR1 && value > 0) {
            kill(0, value);
            kill(getppid(), value);
        }
    }
}
