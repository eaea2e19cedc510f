// The rules of the game, all of them. The engine moves and draws the bodies, finds the nearest one, tells
// which touch, and keeps the timers; what any of that means is said here. Change something while the game
// runs, save, and see.
#include <riverrun.h>

#include "api.h"

constexpr float WIDTH = 160, HEIGHT = 90; // of the field, which the engine keeps bodies within
constexpr int MAX = 640;                  // bodies at once

enum Kind : unsigned { NOTHING = 0, SHIP = 1, SHOT = 2, DRONE = 4, HUNTER = 8, GEM = 16, FOES = DRONE | HUNTER };
enum Timer { WAVE, FIRE, AGAIN };
enum Key { LEFT, RIGHT, UP, DOWN };

// What outlives a reload: this, and nothing else. No pointers, as functions and strings move. New fields go to
// the end and start as they are written here; any other change of them must raise VERSION, and the game
// starts afresh.
constexpr int VERSION = 1;
struct World {
    Body bodies[MAX]; // the first is the ship
    short health[MAX];
    int wave = 0, score = 0, lives = 3, power = 1;
    float steer_x = 0, steer_y = 0;
    float by_hand = 0;  // seconds until the autopilot takes over again
    float shielded = 0; // seconds
};
static World world;
static Body &ship = world.bodies[0];

static float root(float x) { return __builtin_sqrtf(x); }
static float distance(float x, float y) { return root(x * x + y * y) + 0.001f; }
static float between(float low, float high) { return low + (high - low) * dsys_random(); }
static int index_of(const Body &body) { return static_cast<int>(&body - world.bodies); }

static Body *nearest(const Body &to, unsigned kinds, float within)
{
    int found = dsys_nearest(index_of(to), kinds, within);
    return found < 0 ? nullptr : &world.bodies[found];
}

static Body *spawn(Kind kind, unsigned hits, float x, float y, float radius, unsigned colour, int health = 1)
{
    for (int i = 1; i < MAX; i++) {
        if (world.bodies[i].kind == NOTHING) {
            world.bodies[i] = {x, y, 0, 0, radius, 0, colour, kind, hits};
            world.health[i] = static_cast<short>(health);
            return &world.bodies[i];
        }
    }
    return nullptr; // the field is full
}

// Turns a body's velocity towards another one, the faster the higher `grip` (per second).
static void steer(Body &body, float vx, float vy, float grip, float seconds)
{
    float share = grip * seconds < 1 ? grip * seconds : 1;
    body.vx += (vx - body.vx) * share;
    body.vy += (vy - body.vy) * share;
}

static void explode(Body &body, int sparks, float speed)
{
    dsys_sparks(&body, sparks, speed);
    body.kind = NOTHING;
}

// ---- How bodies behave

static void drone(Body &body, float seconds)
{
    // A swarm: around the ship, inwards, but not onto each other.
    float dx = ship.x - body.x, dy = ship.y - body.y, far = distance(dx, dy);
    float spin = index_of(body) % 3 ? 0.8f : -0.8f;
    float speed = 13 + static_cast<float>(world.wave);
    float vx = (dx - spin * dy) / far * speed, vy = (dy + spin * dx) / far * speed;
    if (Body *other = nearest(body, FOES, 4)) {
        float ox = body.x - other->x, oy = body.y - other->y, near = distance(ox, oy);
        vx += ox / near * 14;
        vy += oy / near * 14;
    }
    steer(body, vx, vy, 1.6f, seconds);
}

static void hunter(Body &body, float seconds)
{
    // Aims at where the ship will be.
    float dx = ship.x - body.x, dy = ship.y - body.y, time = distance(dx, dy) / 30;
    dx += ship.vx * time, dy += ship.vy * time;
    float far = distance(dx, dy);
    steer(body, dx / far * 24, dy / far * 24, 1.2f, seconds);
    if (dsys_random() < 0.2f)
        dsys_sparks(&body, 1, 4);
}

static void shot(Body &body, float)
{
    if (body.age > 0.9f)
        body.kind = NOTHING;
}

static void gem(Body &body, float seconds)
{
    float dx = ship.x - body.x, dy = ship.y - body.y, far = distance(dx, dy);
    float pull = far < 24 ? 40 : 0;
    steer(body, dx / far * pull, dy / far * pull, 2, seconds);
    if (body.age > 10)
        explode(body, 2, 3);
}

static void autopilot(float &ax, float &ay)
{
    // To the middle, towards gems, and above all away from foes.
    ax = (WIDTH / 2 - ship.x) / WIDTH, ay = (HEIGHT / 2 - ship.y) / HEIGHT;
    if (Body *gem = nearest(ship, GEM, 60)) {
        float dx = gem->x - ship.x, dy = gem->y - ship.y, far = distance(dx, dy);
        ax += dx / far, ay += dy / far;
    }
    if (Body *foe = nearest(ship, FOES, 18)) {
        float dx = ship.x - foe->x, dy = ship.y - foe->y, far = distance(dx, dy);
        ax += (dx - 0.6f * dy) / far * 24 / far, ay += (dy + 0.6f * dx) / far * 24 / far;
    }
}

static void fly(Body &body, float seconds)
{
    float ax = world.steer_x, ay = world.steer_y;
    if (world.by_hand <= 0)
        autopilot(ax, ay);
    float much = distance(ax, ay);
    if (much > 1)
        ax /= much, ay /= much;
    steer(body, ax * 46, ay * 46, 4, seconds);
    body.colour = world.shielded > 0 ? 0x80ffff : 0xffffff;
    if (distance(body.vx, body.vy) > 14)
        dsys_sparks(&body, 1, 5);
}

// ---- What the engine calls

RIVERRUN_EXPORT(void, frame, (float));
RIVERRUN_EXPORT(void, think, (Body *, float));
RIVERRUN_EXPORT(void, touch, (Body *, Body *));
RIVERRUN_EXPORT(void, timer, (int));
RIVERRUN_EXPORT(void, key, (int));

// Once a frame.
void frame(float seconds)
{
    world.by_hand -= seconds;
    world.shielded -= seconds;
    world.steer_x *= 0.96f;
    world.steer_y *= 0.96f;
    dsys_show("score", world.score);
    dsys_show("wave", world.wave);
    dsys_show("lives", world.lives);
    dsys_show("power", world.power);
}

// For every body, once a frame.
void think(Body *body, float seconds)
{
    switch (body->kind) {
    case SHIP: return fly(*body, seconds);
    case SHOT: return shot(*body, seconds);
    case DRONE: return drone(*body, seconds);
    case HUNTER: return hunter(*body, seconds);
    case GEM: return gem(*body, seconds);
    }
}

static void hurt(Body &foe)
{
    short &health = world.health[index_of(foe)];
    dsys_sparks(&foe, 2, 12);
    if (--health > 0)
        return;
    world.score += foe.kind == HUNTER ? 50 : 10;
    if (foe.kind == HUNTER || dsys_random() < 0.03f)
        spawn(GEM, NOTHING, foe.x, foe.y, 0.9f, 0x40ff60);
    explode(foe, foe.kind == HUNTER ? 40 : 10, 22);
}

static void crash()
{
    world.shielded = 3;
    world.lives--;
    world.power = world.power > 2 ? world.power - 2 : 1;
    dsys_sparks(&ship, 160, 60);
    for (Body &body : world.bodies)
        if ((body.kind & FOES) && distance(body.x - ship.x, body.y - ship.y) < 22)
            explode(body, 8, 26);
    if (world.lives > 0)
        return dsys_say("hit! the blast clears the way");
    dsys_say("game over");
    explode(ship, 200, 80);
    dsys_after(3, AGAIN);
}

// Of two bodies that touch, where the first one hits the other's kind.
void touch(Body *body, Body *other)
{
    if (body->kind == SHOT) {
        hurt(*other);
        body->kind = NOTHING;
    } else if (other->kind == GEM) {
        world.power = world.power < 7 ? world.power + 1 : 7;
        world.score += 5;
        explode(*other, 12, 16);
    } else if (world.shielded <= 0) {
        crash();
    }
}

static void wave()
{
    world.wave++;
    dsys_say("here comes the next wave");
    for (int i = 0; i < 240 + 20 * world.wave; i++) {
        bool upright = dsys_random() < 0.4f, far = dsys_random() < 0.5f;
        float x = upright ? (far ? WIDTH : 0) : between(0, WIDTH), y = upright ? between(0, HEIGHT) : (far ? HEIGHT : 0);
        if (i % 24 == 23)
            spawn(HUNTER, NOTHING, x, y, 1.5f, 0xff3020, 6);
        else
            spawn(DRONE, NOTHING, x, y, 0.8f, dsys_random() < 0.5f ? 0xff9020 : 0xd040ff);
    }
    dsys_after(8, WAVE);
}

static void fire()
{
    Body *foe = ship.kind == SHIP ? nearest(ship, FOES, 60) : nullptr;
    for (int i = 0; foe && i < world.power; i++) {
        float spread = (static_cast<float>(i) - static_cast<float>(world.power - 1) / 2) * 0.12f;
        float dx = foe->x - ship.x, dy = foe->y - ship.y, far = distance(dx, dy);
        if (Body *shot = spawn(SHOT, FOES, ship.x, ship.y, 0.6f, 0xffff80)) {
            shot->vx = (dx - spread * dy) / far * 90;
            shot->vy = (dy + spread * dx) / far * 90;
        }
    }
    dsys_after(0.12f, FIRE);
}

static void begin()
{
    world.score = world.wave = 0;
    world.lives = 3;
    world.power = 2;
    world.shielded = 2;
    for (Body &body : world.bodies)
        body.kind = NOTHING;
    ship = {WIDTH / 2, HEIGHT / 2, 0, 0, 1.4f, 0, 0xffffff, SHIP, FOES | GEM};
}

// When the time has come that `dsys_after` named.
void timer(int what)
{
    switch (what) {
    case WAVE: return wave();
    case FIRE: return fire();
    case AGAIN: return begin();
    }
}

void key(int which)
{
    world.by_hand = 4;
    world.steer_x = which == LEFT ? -1 : which == RIGHT ? 1 : world.steer_x / 2;
    world.steer_y = which == UP ? -1 : which == DOWN ? 1 : world.steer_y / 2;
}

int main()
{
    dsys_bodies(world.bodies, MAX);
    dsys_keep(reinterpret_cast<unsigned char *>(&world), sizeof world, VERSION);
    begin();
    dsys_after(0.1f, WAVE);
    dsys_after(0.5f, FIRE);
}
