/* Start ranks: reads the environment variables of launchers, or becomes mpiexec with those that it needs. */
#include "bench/worker/start_ranks.h"

#include "base/build.h"
#include "base/text/words.h"
#include "build_config.h"
#include "comm/comm.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *by, *size, *rank;
} launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "PMI_RANK"}, /* --mpi=pmi2 */
    {"srun", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
    {"mpiexec", "PMI_SIZE", "PMI_RANK"},
};

static bool number(const char *name, unsigned *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    const unsigned long n = text ? strtoul(text, &end, 10) : 0;
    *out = (unsigned)n;
    return text && *text && !*end && n <= INT_MAX;
}

struct pk_launcher pk_launcher_of_process(void)
{
    struct pk_launcher l = {0};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (number(launchers[i].size, &l.size) && number(launchers[i].rank, &l.rank) && l.rank < l.size) {
            l.by = launchers[i].by;
            return l;
        }
    return (struct pk_launcher){0};
}

static bool in_path(const char *program, struct pk_arena *a)
{
    const char *path = getenv("PATH");
    for (const char *at = path; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL)
        if (!access(pk_printf(a, "%.*s/%s", (int)strcspn(at, ":"), at, program), X_OK))
            return true;
    return false;
}

static unsigned our_cpus(void)
{
    struct pk_cpus c;
    return pk_machine_cpus(c.v, PK_CPUS_MAX);
}

const char *pk_launch_refused(unsigned ranks, struct pk_arena *a)
{
    const struct pk_launcher l = pk_launcher_of_process();
    const char *reason = pk_comm_unavailable(PK_COMM_MPI), *enable = pk_feature("mpi")->enable;
    if (reason)
        return pk_printf(a, "ranks over MPI: %s%s%s", reason, enable ? ": " : "", enable ? enable : "");
    if (l.by)
        return ranks == l.size ? NULL
                               : pk_printf(a, "%s, but %s started %u: omit the number, or start as many",
                                           pk_plural(ranks, "rank", a), l.by, l.size);
    if (!in_path("mpiexec", a))
        return "ranks over MPI: there is no mpiexec in PATH: " PK_INSTALL_MPI;
    const unsigned cpus = our_cpus(), most = PK_RANKS_PER_CPU * cpus;
    return ranks <= most
               ? NULL
               : pk_printf(a,
                           "%u ranks on %s: perfkit starts at most %u here; mpirun or srun can start more, "
                           "on several machines, and transport=link has any number of virtual ranks",
                           ranks, pk_plural(cpus, "CPU", a), most);
}

const char *pk_launch_doubt(unsigned ranks, unsigned threads, const char *cpus, struct pk_arena *a)
{
    struct pk_cpus listed;
    const unsigned n = cpus && pk_cpus_read(cpus, &listed) ? listed.n : our_cpus();
    if (pk_launcher_of_process().by || (uint64_t)ranks * (threads ? threads : 1) <= n)
        return NULL;
    return pk_printf(a,
                     "%u ranks%s share %s (mpiexec oversubscribes): their times do not represent a machine "
                     "with one for each",
                     ranks, threads > 1 ? pk_printf(a, " of %u threads", threads) : "",
                     pk_plural(n, "CPU", a));
}

enum pk_code pk_launch_become(unsigned ranks, int wire_fd, const char *heartbeats, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    /* Launchers close what they inherit: rank 0 finds the wire by the number of this process, which is mpiexec's. */
    const char *const argv[] = {"mpiexec",
                                "-n",
                                pk_printf(&a, "%u", ranks),
                                self,
                                "worker",
                                "--join",
                                "--wire",
                                pk_printf(&a, "/proc/%d/fd/%d", (int)getpid(), wire_fd),
                                heartbeats ? "--heartbeats" : NULL,
                                heartbeats,
                                NULL};
    /* Threads are bound by us; containers know no user but root. What the user has set stays. */
    static const char *const variables[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"PRTE_ALLOW_RUN_AS_ROOT", "1"}, /* Open MPI 5 */
        {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
        {"I_MPI_PIN", "0"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i][0], variables[i][1], 0);
    execvp(argv[0], (char *const *)argv);
    pk_fail(err, PK_E_UNAVAILABLE, "cannot start %u ranks by mpiexec", ranks);
    pk_why_errno(err, errno);
    return pk_fix(err, PK_INSTALL_MPI);
}
