#include <stdexcept>

namespace game {
struct Player {
    __attribute__((noinline)) void hurt(int points) {
        if (points > 100) throw std::runtime_error("dead");
    }
};
}

int main(int argc, char **) {
    try {
        game::Player().hurt(argc * 200);
    } catch (const std::exception &) {
        return 0;
    }
    return 1;
}
