// The rules of a game for two: each throws paint, and who owns more of the field wins. Whatever the game remembers is in
// guest memory, and nothing comes from outside but the players' keys: the same keys make the same game.
#include <riverrun.h>

constexpr int WIDTH = 96, HEIGHT = 40, DROPS = 512;
enum Key : unsigned { LEFT = 1, RIGHT = 2, UP = 4, DOWN = 8, THROW = 16 };

struct Player {
    float x, y;
    float aim; // radians
};

struct Drop {
    float x, y, vx, vy;
    int frames; // until it lands; 0 if there is none
    unsigned char owner;
};

// The host draws these: the owner of each cell, 1 or 2, and how many each has.
unsigned char field[HEIGHT][WIDTH];
int score[3];

static Player players[2];
static Drop drops[DROPS];
static unsigned next_drop, seed;

// Pseudo-random, from 0 up to 1 (xorshift).
static float random_part()
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return static_cast<float>(seed >> 8) / static_cast<float>(1 << 24);
}

static float within(float x, float limit) { return x < 0 ? 0 : x > limit ? limit : x; }

// A sine that is the same on every host: only additions and products.
static float sine(float x)
{
    constexpr float PI = 3.14159265f;
    while (x > PI)
        x -= 2 * PI;
    while (x < -PI)
        x += 2 * PI;
    float y = 4 / PI * x - 4 / (PI * PI) * x * (x < 0 ? -x : x);
    return y + 0.225f * (y * (y < 0 ? -y : y) - y);
}

static void paint(int x, int y, unsigned char owner)
{
    if (x < 0 || x >= WIDTH || y < 0 || y >= HEIGHT || field[y][x] == owner)
        return;
    score[field[y][x]]--;
    score[owner]++;
    field[y][x] = owner;
}

static void splash(const Drop &drop)
{
    int x = static_cast<int>(drop.x), y = static_cast<int>(drop.y);
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -2; dx <= 2; dx++)
            if (random_part() < 0.7f)
                paint(x + dx, y + dy, drop.owner);
}

static void move(Player &player, unsigned keys, unsigned char owner)
{
    float dx = (keys & RIGHT ? 1.0f : 0.0f) - (keys & LEFT ? 1.0f : 0.0f);
    float dy = (keys & DOWN ? 1.0f : 0.0f) - (keys & UP ? 1.0f : 0.0f);
    player.x = within(player.x + dx * 0.6f, WIDTH - 1);
    player.y = within(player.y + dy * 0.4f, HEIGHT - 1);
    player.aim += 0.11f;
    if (player.aim > 6.2831853f)
        player.aim -= 6.2831853f;
    paint(static_cast<int>(player.x), static_cast<int>(player.y), owner);
    for (int i = 0; keys & THROW && i < 4; i++) {
        float angle = player.aim + random_part() - 0.5f, speed = 0.4f + 0.6f * random_part();
        int frames = 8 + static_cast<int>(random_part() * 24);
        drops[next_drop] = {player.x, player.y, sine(angle + 1.5707963f) * speed, sine(angle) * speed, frames, owner};
        next_drop = (next_drop + 1) % DROPS;
    }
}

// A frame, with the keys that each player holds.
RIVERRUN_EXPORT(void, frame, (unsigned, unsigned));

void frame(unsigned first, unsigned second)
{
    move(players[0], first, 1);
    move(players[1], second, 2);
    for (Drop &drop : drops) {
        if (drop.frames == 0)
            continue;
        drop.x += drop.vx;
        drop.y += drop.vy;
        if (--drop.frames == 0)
            splash(drop);
    }
}

int main()
{
    seed = 0x9e3779b9;
    score[0] = WIDTH * HEIGHT;
    players[0] = {WIDTH / 4, HEIGHT / 2, 0};
    players[1] = {3 * WIDTH / 4, HEIGHT / 2, 3};
}
