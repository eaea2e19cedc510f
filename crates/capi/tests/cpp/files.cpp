// A file system of the host in C++. Argument: the guest.
#include "check.hpp"

#include <map>
#include <string>

static std::string output;

// Files by their names, all in one directory.
struct Files : riverrun::FileSystem {
    std::map<std::string, std::string, std::less<>> files;
    bool is_broken = false;

    int look(const char *path, riverrun::FileStatus &status) override
    {
        auto found = files.find(path);
        status.is_directory = *path == 0;
        if (found != files.end())
            status.len = found->second.size();
        return status.is_directory || found != files.end() ? 0 : ENOENT;
    }
    int list(const char *, riverrun::Entries entries) override
    {
        for (auto &file : files)
            entries.add(file.first.c_str()).value();
        return 0;
    }
    std::int64_t read(const char *path, void *buffer, std::size_t length, std::uint64_t at) override
    {
#ifdef __cpp_exceptions
        if (is_broken)
            throw std::runtime_error("it cannot be read");
#else
        if (is_broken)
            return -EIO;
#endif
        const std::string &text = files.find(path)->second;
        return at < text.size() ? std::int64_t(text.copy(static_cast<char *>(buffer), length, at)) : 0;
    }
};

int main(int, char **argv)
{
    riverrun::Engine engine;
    riverrun::Program program = riverrun::Program::from_file(engine, argv[1]).value();
    riverrun::Linker linker(engine);
    linker.add_linux();
    riverrun::Linux granted;
    for (const char *argument : {"libc", "pear", "apple"})
        granted.argument(argument).value();
    granted.variable("NUMBER", "1").value();
    granted.output([](std::string_view text) { output += text; }).value();
    auto files = std::make_shared<Files>();
    files->files["words"] = "one\nthree\n";
    granted.file_system("/data", files).value();
    CHECK(!granted.file_system("/data", files));
    CHECK(files.use_count() == 2);

    for (bool is_broken : {false, true}) {
        files->is_broken = is_broken;
        riverrun::Machine machine = linker.instantiate(program, granted).value();
        CHECK(machine.run().value() == 3);
        CHECK(output == (is_broken ? "apple pear\n0.333 done\n" : "apple pear\n4 one\n6 three\n0.333 done\n"));
        output.clear();
    }
    return 0;
}
