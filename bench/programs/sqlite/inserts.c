// Inserts into an indexed table of an in-memory database, within one transaction, then sums it up.
#include "bench.h"

#include <sqlite3.h>
#include <string.h>

static void require(int ok, sqlite3 *db, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, db != NULL ? sqlite3_errmsg(db) : "no database");
        exit(1);
    }
}

static void execute(sqlite3 *db, const char *sql) {
    require(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, db, sql);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    require(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, db, sql);
    return statement;
}

// The operating system as SQLite sees it: no files, no clock, fixed random numbers. An in-memory
// database needs no more, and every target then does the same work.
static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out) {
    (void)vfs, (void)name, (void)file, (void)flags, (void)out;
    return SQLITE_CANTOPEN;
}
static int delete_file(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs, (void)name, (void)sync;
    return SQLITE_IOERR_DELETE;
}
static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    (void)vfs, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}
static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs;
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}
static int randomness(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs;
    memset(out, 42, (size_t)size);
    return size;
}
static int sleep_not(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs, (void)microseconds;
    return 0;
}
static int julian_day(sqlite3_vfs *vfs, double *out) {
    (void)vfs;
    *out = 2451545.0;
    return SQLITE_OK;
}

static sqlite3_vfs nothing = {
    .iVersion = 1,
    .mxPathname = 64,
    .zName = "nothing",
    .xOpen = open_file,
    .xDelete = delete_file,
    .xAccess = access_file,
    .xFullPathname = full_path,
    .xRandomness = randomness,
    .xSleep = sleep_not,
    .xCurrentTime = julian_day,
};

int sqlite3_os_init(void) { return sqlite3_vfs_register(&nothing, 1); }
int sqlite3_os_end(void) { return SQLITE_OK; }

int main(int argc, char **argv) {
    uint64_t rows = bench_size(argc, argv);
    sqlite3 *db = NULL;
    require(sqlite3_open(":memory:", &db) == SQLITE_OK, db, "opening the database");
    execute(db, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, stock INTEGER);"
                "CREATE INDEX item_name ON item (name);"
                "BEGIN");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO item (name, price, stock) VALUES (?, ?, ?)");
    uint64_t random = 1;
    for (uint64_t row = 0; row < rows; row++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        char name[24];
        int length = snprintf(name, sizeof name, "item %07u", (unsigned)(random >> 40));
        sqlite3_bind_text(insert, 1, name, length, SQLITE_TRANSIENT);
        sqlite3_bind_double(insert, 2, (double)(random >> 54) / 8);
        sqlite3_bind_int64(insert, 3, (sqlite3_int64)(random >> 33 & 255));
        require(sqlite3_step(insert) == SQLITE_DONE, db, "inserting");
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    execute(db, "COMMIT");

    sqlite3_stmt *query = prepare(db, "SELECT count(*), min(name), max(name), sum(price), sum(stock * (id % 7)) FROM item");
    require(sqlite3_step(query) == SQLITE_ROW, db, "summing up");
    uint64_t checksum = BENCH_CHECKSUM_START;
    for (int column = 0; column < sqlite3_column_count(query); column++) {
        const unsigned char *text = sqlite3_column_text(query, column);
        require(text != NULL, db, "reading a column");
        checksum = bench_checksum(checksum, text, (size_t)sqlite3_column_bytes(query, column));
    }
    sqlite3_finalize(query);
    sqlite3_close(db);
    return bench_report(checksum);
}
