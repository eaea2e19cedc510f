// A plugin of the server, in plain C++: it counts the words of a text and renders a page of the most frequent ones.
//
// Its constructor takes the template apart and fills a table of words to ignore. `main` does that once; every request
// then begins with a machine in which it has been done.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#ifdef __riscv
#include <riverrun.h>
#define OWN static
#else
// The same file is compiled for the host, to compare with: each thread of the server has a plugin there.
#define RIVERRUN_EXPORT(result, name, parameters) extern "C" result name parameters
#define OWN static thread_local
#endif

using std::string_view;

// A page, or an error, with its HTTP status. The text is the plugin's until the next request.
struct Reply {
    unsigned status, length;
    const char *text;
};

// What the server calls: makes room for a request, then handles it. Path and body stand one behind the other.
RIVERRUN_EXPORT(char *, room, (size_t));
RIVERRUN_EXPORT(Reply, handle, (size_t, size_t));

namespace {

constexpr string_view PAGE = "<!doctype html>\n<title>{{total}} words</title>\n"
                             "<h1>{{total}} words, {{distinct}} of them distinct</h1>\n<table>\n{{rows}}</table>\n";
constexpr string_view COMMON = "a about all an and any are as at be been but by can could do for from had has have he "
                               "her his i if in into is it its me more my no not of on one or our out she so some than "
                               "that the their them then there these they this to up us was we were what when which "
                               "who will with would you your";
constexpr size_t ROWS = 10;

// Small letters, digits and whatever is not ASCII belong to words; capitals become small.
char letter(char c)
{
    if (c >= 'A' && c <= 'Z')
        return static_cast<char>(c + ('a' - 'A'));
    bool belongs = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80);
    return belongs ? c : 0;
}

class Plugin {
    // Text, and the name of what comes behind it.
    std::vector<std::pair<string_view, string_view>> parts;
    std::unordered_set<string_view> common;
    std::string page;
    std::string last;
    int requests = 0;

    static std::unordered_map<std::string, unsigned> count(string_view text)
    {
        std::unordered_map<std::string, unsigned> words;
        std::string word;
        for (char c : text) {
            if (char small = letter(c)) {
                word += small;
            } else if (!word.empty()) {
                words[word]++;
                word.clear();
            }
        }
        if (!word.empty())
            words[word]++;
        return words;
    }

    void render(string_view text)
    {
        auto words = count(text);
        std::vector<std::pair<string_view, unsigned>> rows;
        unsigned total = 0;
        for (const auto &[word, times] : words) {
            total += times;
            if (!common.count(word))
                rows.emplace_back(word, times);
        }
        auto shown = rows.begin() + static_cast<long>(std::min(ROWS, rows.size()));
        std::partial_sort(rows.begin(), shown, rows.end(), [](const auto &a, const auto &b) {
            return a.second != b.second ? a.second > b.second : a.first < b.first;
        });
        for (const auto &[before, name] : parts) {
            page += before;
            if (name == "total")
                page += std::to_string(total);
            else if (name == "distinct")
                page += std::to_string(words.size());
            else if (name == "rows")
                for (auto row = rows.begin(); row != shown; row++)
                    page.append("<tr><td>").append(row->first).append("<td>").append(std::to_string(row->second)) += '\n';
        }
    }

    // Faults, for a visitor who wants to see what they do to the server.
    static int deep(volatile int *above)
    {
        volatile int here = *above + 1;
        return here < 0 ? 0 : deep(&here) + here;
    }

public:
    std::string request;

    Plugin()
    {
        string_view rest = PAGE;
        for (size_t open; (open = rest.find("{{")) != rest.npos;) {
            size_t close = rest.find("}}", open);
            parts.emplace_back(rest.substr(0, open), rest.substr(open + 2, close - open - 2));
            rest.remove_prefix(close + 2);
        }
        parts.emplace_back(rest, "");
        for (size_t begin = 0, end; begin < COMMON.size(); begin = end + 1) {
            end = std::min(COMMON.find(' ', begin), COMMON.size());
            common.insert(COMMON.substr(begin, end - begin));
        }
    }

    unsigned handle(string_view path, string_view body)
    {
        requests++;
        page.clear();
        if (path == "/words") {
            render(body);
        } else if (path == "/seen") {
            // What another request has left behind: nothing, if each has a machine of its own.
            page = "request " + std::to_string(requests) + "; before it: \"" + last + "\"\n";
        } else if (path == "/loop") {
            for (volatile int forever = 1; forever;) {}
        } else if (path == "/null") {
            volatile int *volatile nowhere = nullptr;
            *nowhere = 1;
        } else if (path == "/deep") {
            volatile int first = 0;
            return static_cast<unsigned>(deep(&first));
        } else if (path == "/throw") {
            page = parts.at(parts.size()).first;
        } else {
            page = "no such page\n";
            return 404;
        }
        last = body;
        return 200;
    }

    string_view answer() const { return page; }
};

Plugin &plugin()
{
    OWN Plugin plugin;
    return plugin;
}

} // namespace

char *room(size_t size)
{
    plugin().request.resize(size);
    return plugin().request.data();
}

Reply handle(size_t path, size_t body)
{
    Plugin &it = plugin();
    string_view request = string_view(it.request).substr(0, path + body);
    unsigned status = it.handle(request.substr(0, path), request.substr(path));
    string_view page = it.answer();
    return {status, static_cast<unsigned>(page.size()), page.data()};
}

#ifdef __riscv
int main()
{
    plugin();
}
#endif
