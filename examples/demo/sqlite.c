// SQLite on a database file: `sqlite DIRECTORY` creates and queries DIRECTORY/shop.db,
// `sqlite DIRECTORY check` opens what a former run left there and checks it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

enum { CUSTOMERS = 500, PRODUCTS = 200, ORDERS = 20000, ORDERS_PER_TRANSACTION = 1000 };

static sqlite3 *database;

static void require(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "sqlite: %s: %s\n", what, database ? sqlite3_errmsg(database) : "no database");
        exit(1);
    }
}

static void run(const char *sql) { require(sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK, sql); }

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement = NULL;
    require(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK, sql);
    return statement;
}

static void step_and_reset(sqlite3_stmt *statement) {
    require(sqlite3_step(statement) == SQLITE_DONE, sqlite3_sql(statement));
    sqlite3_reset(statement);
}

// Prints the rows of a query, columns separated by " | ".
static void show(const char *title, const char *sql) {
    printf("\n%s\n", title);
    sqlite3_stmt *query = prepare(sql);
    int status;
    while ((status = sqlite3_step(query)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(query); i++) {
            const char *text = (const char *)sqlite3_column_text(query, i);
            printf("%s%s", i ? " | " : "  ", text ? text : "NULL");
        }
        putchar('\n');
    }
    require(status == SQLITE_DONE, sql);
    sqlite3_finalize(query);
}

static unsigned next_random(void) {
    static unsigned state = 12345;
    state = state * 1103515245u + 12345u;
    return state >> 8;
}

static void create(void) {
    run("PRAGMA page_size = 4096; PRAGMA foreign_keys = ON;"
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);"
        "CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, price REAL NOT NULL);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY,"
        "  customer INTEGER NOT NULL REFERENCES customer, product INTEGER NOT NULL REFERENCES product,"
        "  amount INTEGER NOT NULL CHECK (amount > 0), note TEXT);"
        "CREATE INDEX orders_by_customer ON orders (customer);"
        "CREATE INDEX orders_by_product ON orders (product, amount);");
}

static void fill(void) {
    static const char *const cities[] = {"Aachen", "Bergen", "Coimbra", "Delft", "Évora", "Florence"};
    sqlite3_stmt *insert;

    run("BEGIN");
    insert = prepare("INSERT INTO customer VALUES (?, printf('customer %04d', ?1), ?)");
    for (int i = 1; i <= CUSTOMERS; i++) {
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_text(insert, 2, cities[next_random() % 6], -1, SQLITE_STATIC);
        step_and_reset(insert);
    }
    sqlite3_finalize(insert);
    insert = prepare("INSERT INTO product VALUES (?, printf('product %s%03d', char(65 + ?1 % 26), ?1), ?)");
    for (int i = 1; i <= PRODUCTS; i++) {
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_double(insert, 2, (next_random() % 100000) / 100.0);
        step_and_reset(insert);
    }
    sqlite3_finalize(insert);
    run("COMMIT");

    insert = prepare("INSERT INTO orders VALUES (?, ?, ?, ?, ?)");
    for (int i = 1; i <= ORDERS; i++) {
        if (i % ORDERS_PER_TRANSACTION == 1) run("BEGIN");
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_int(insert, 2, 1 + next_random() % CUSTOMERS);
        sqlite3_bind_int(insert, 3, 1 + next_random() % PRODUCTS);
        sqlite3_bind_int(insert, 4, 1 + next_random() % 9);
        if (i % 7 == 0)
            sqlite3_bind_text(insert, 5, "gift", -1, SQLITE_STATIC);
        else
            sqlite3_bind_null(insert, 5);
        step_and_reset(insert);
        if (i % ORDERS_PER_TRANSACTION == 0) run("COMMIT");
    }
    sqlite3_finalize(insert);
}

static void query(void) {
    show("Rows", "SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM product),"
                 " (SELECT count(*) FROM orders), (SELECT count(note) FROM orders)");
    show("Turnover by city",
         "SELECT city, count(*), sum(amount), printf('%.2f', sum(amount * price)) FROM orders"
         " JOIN customer ON customer.id = customer JOIN product ON product.id = product"
         " GROUP BY city ORDER BY city");
    show("Best customers",
         "SELECT customer.name, count(*), printf('%.2f', sum(amount * price)) AS spent FROM orders"
         " JOIN customer ON customer.id = customer JOIN product ON product.id = product"
         " GROUP BY customer.id ORDER BY sum(amount * price) DESC LIMIT 5");
    show("Products that the best three cities order most (window functions, common table expressions)",
         "WITH sold AS (SELECT city, product.name AS product, sum(amount) AS amount FROM orders"
         "   JOIN customer ON customer.id = customer JOIN product ON product.id = product GROUP BY 1, 2),"
         " ranked AS (SELECT *, row_number() OVER (PARTITION BY city ORDER BY amount DESC, product) AS place FROM sold)"
         " SELECT city, product, amount FROM ranked WHERE place = 1 ORDER BY amount DESC, city LIMIT 3");
    show("A recursive query", "WITH RECURSIVE fib(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib"
                              " WHERE n < 60) SELECT n, a FROM fib WHERE n % 20 = 0");
    show("Text and JSON", "SELECT upper(name), length('Évora'), instr(name, '00'), json_extract('{\"a\":[1,2,{\"b\":3.5}]}',"
                          " '$.a[2].b'), hex(name LIKE '%7') FROM customer WHERE name GLOB '*7' LIMIT 3");
}

// Changes that must hold, and one that must be rolled back.
static void change(void) {
    run("BEGIN; UPDATE product SET price = round(price * 1.1, 2) WHERE id % 3 = 0;"
        "DELETE FROM orders WHERE amount = 1; COMMIT;");
    run("BEGIN; DELETE FROM orders; ROLLBACK;");
    int status = sqlite3_exec(database, "INSERT INTO orders VALUES (0, 99999, 1, 1, NULL)", NULL, NULL, NULL);
    printf("\nAn order of a customer who does not exist: %s\n",
           status == SQLITE_CONSTRAINT ? sqlite3_errmsg(database) : "accepted");
    run("VACUUM");
}

static void open_database(const char *path, int flags) {
    require(sqlite3_open_v2(path, &database, flags, NULL) == SQLITE_OK, "opening the database");
}

static void close_database(void) {
    require(sqlite3_close(database) == SQLITE_OK, "closing the database");
    database = NULL;
}

static void check(void) {
    show("After closing and opening the file again",
         "SELECT count(*), sum(amount), (SELECT printf('%.2f', sum(price)) FROM product) FROM orders");
    show("Integrity", "PRAGMA integrity_check");
    show("Foreign keys violated", "SELECT count(*) FROM pragma_foreign_key_check");
    sqlite3_stmt *integrity = prepare("PRAGMA integrity_check");
    require(sqlite3_step(integrity) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(integrity, 0), "ok"),
            "integrity_check");
    sqlite3_finalize(integrity);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: sqlite DIRECTORY [check]\n");
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/shop.db", argv[1]);
    if (argc == 2) {
        remove(path);
        open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        printf("SQLite %s\n", sqlite3_libversion());
        create();
        fill();
        query();
        change();
        close_database();
    }
    open_database(path, SQLITE_OPEN_READONLY);
    check();
    close_database();
    return 0;
}
