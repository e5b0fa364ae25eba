/* Faulty SQLite: a file system and an allocator in front of SQLite's own. */
#include "faulty_sqlite.h"

#include <sqlite3.h>
#include <string.h>

struct fault {
    unsigned long left; /* calls until it is due; 0 = never */
    bool on, due;
    int code;
};

static struct fault files, memory;
static sqlite3_vfs *real_vfs, vfs;
static sqlite3_mem_methods real_memory;

static bool fails(struct fault *f)
{
    if (f->left && --f->left == 0)
        f->due = true;
    else if (!(f->due && f->on))
        return false;
    return true;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* The real file lies behind it. */
struct file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_file *real(sqlite3_file *f)
{
    return ((struct file *)f)->real;
}

static int f_close(sqlite3_file *f)
{
    return real(f)->pMethods->xClose(real(f));
}

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return real(f)->pMethods->xRead(real(f), p, n, at);
}

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    return fails(&files) ? files.code : real(f)->pMethods->xWrite(real(f), p, n, at);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return fails(&files) ? files.code : real(f)->pMethods->xTruncate(real(f), size);
}

static int f_sync(sqlite3_file *f, int flags)
{
    return fails(&files) ? files.code : real(f)->pMethods->xSync(real(f), flags);
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real(f)->pMethods->xFileSize(real(f), size);
}

static int f_lock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xLock(real(f), level);
}

static int f_unlock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xUnlock(real(f), level);
}

static int f_reserved(sqlite3_file *f, int *is)
{
    return real(f)->pMethods->xCheckReservedLock(real(f), is);
}

static int f_control(sqlite3_file *f, int op, void *arg)
{
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int f_sector(sqlite3_file *f)
{
    return real(f)->pMethods->xSectorSize(real(f));
}

static int f_characteristics(sqlite3_file *f)
{
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_reserved,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_characteristics,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    struct file *ours = (struct file *)f;
    ours->base.pMethods = NULL;
    ours->real = (sqlite3_file *)&ours[1];
    if ((flags & SQLITE_OPEN_CREATE) && fails(&files))
        return SQLITE_CANTOPEN;
    int rc = real_vfs->xOpen(real_vfs, name, ours->real, flags, out_flags);
    if (ours->real->pMethods)
        ours->base.pMethods = &methods;
    return rc;
}

static int v_delete(sqlite3_vfs *v, const char *name, int sync)
{
    return fails(&files) ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, sync);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void *m_malloc(int n)
{
    return fails(&memory) ? NULL : real_memory.xMalloc(n);
}

static void *m_realloc(void *p, int n)
{
    return fails(&memory) ? NULL : real_memory.xRealloc(p, n);
}

/* --- for tests ---------------------------------------------------------------------------------------------------- */

void faulty_install(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods ours = real_memory;
    ours.xMalloc = m_malloc;
    ours.xRealloc = m_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
    sqlite3_initialize();
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    vfs.zName = "faulty";
    vfs.xOpen = v_open;
    vfs.xDelete = v_delete;
    sqlite3_vfs_register(&vfs, 1);
}

void faulty_files(unsigned long n, bool on, int code)
{
    files = (struct fault){.left = n, .on = on, .code = code};
}

void faulty_memory(unsigned long n, bool on)
{
    memory = (struct fault){.left = n, .on = on};
}

bool faulty_happened(void)
{
    return files.due || memory.due;
}
