// Rows in an indexed table of SQLite, in memory: `rows NUMBER`.
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

static sqlite3 *database;

static void require(int ok) {
    if (!ok) {
        fprintf(stderr, "rows: %s\n", sqlite3_errmsg(database));
        exit(1);
    }
}

int main(int argc, char **argv) {
    int rows = argc > 1 ? atoi(argv[1]) : 1000;
    require(sqlite3_open(":memory:", &database) == SQLITE_OK);
    const char *table = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL); CREATE INDEX by_name ON item (name); BEGIN";
    require(sqlite3_exec(database, table, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_stmt *insert;
    require(sqlite3_prepare_v2(database, "INSERT INTO item (name, price) VALUES (?, ?)", -1, &insert, NULL) == SQLITE_OK);
    unsigned long long random = 1;
    for (int row = 0; row < rows; row++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        char name[24];
        snprintf(name, sizeof name, "item %07u", (unsigned)(random >> 40));
        sqlite3_bind_text(insert, 1, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(insert, 2, (double)(random >> 54) / 8);
        require(sqlite3_step(insert) == SQLITE_DONE);
        sqlite3_reset(insert);
        if (row % (rows / 100 + 1) == 0) fputs(".\n", stderr);
    }
    sqlite3_finalize(insert);
    sqlite3_stmt *query;
    const char *sum = "SELECT count(*), min(name), max(name), sum(price), sum(id % 7) FROM item";
    require(sqlite3_prepare_v2(database, sum, -1, &query, NULL) == SQLITE_OK);
    require(sqlite3_step(query) == SQLITE_ROW);
    for (int column = 0; column < sqlite3_column_count(query); column++)
        printf("%s%c", sqlite3_column_text(query, column), column == 4 ? '\n' : ' ');
    sqlite3_finalize(query);
    sqlite3_close(database);
}
