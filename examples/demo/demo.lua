-- A tour of Lua 5.4 with the same output on every run: closures, metatables, string matching,
-- errors and tracebacks, coroutines, the garbage collector, sorting, formatting.

local function section(title) print("\n-- " .. title) end

local function sorted_keys(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys)
  return keys
end

----------------------------------------------------------------------
section("closures")

local function counter(step)
  local n = 0
  return function() n = n + step; return n end, function() n = 0 end
end

local next_odd, reset = counter(2)
local seen = {}
for i = 1, 5 do seen[i] = next_odd() end
print(table.concat(seen, " "))
reset()
print(next_odd())

local function compose(...)
  local fs = { ... }
  return function(x)
    for i = #fs, 1, -1 do x = fs[i](x) end
    return x
  end
end
print(compose(math.sqrt, function(x) return x * x * 16 end, tonumber)("7"))

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
print("fib(24) =", fib(24))

-- A Y combinator, and a fold with varargs.
local Y = function(f) return (function(x) return x(x) end)(function(x) return f(function(...) return x(x)(...) end) end) end
print("10! =", Y(function(self) return function(n) return n == 0 and 1 or n * self(n - 1) end end)(10))
print("varargs", select("#", nil, nil, 3), (select(-1, "a", "b", "c")))

----------------------------------------------------------------------
section("objects")

local Vector = {}
Vector.__index = Vector
local function vec(x, y) return setmetatable({ x = x, y = y }, Vector) end
Vector.__add = function(a, b) return vec(a.x + b.x, a.y + b.y) end
Vector.__mul = function(a, s) return vec(a.x * s, a.y * s) end
Vector.__eq = function(a, b) return a.x == b.x and a.y == b.y end
Vector.__lt = function(a, b) return a:length() < b:length() end
Vector.__tostring = function(v) return string.format("(%g, %g)", v.x, v.y) end
Vector.__call = function(v, k) return v[k] end
Vector.__concat = function(a, b) return tostring(a) .. tostring(b) end
function Vector:length() return math.sqrt(self.x ^ 2 + self.y ^ 2) end

local a, b = vec(1, 2), vec(3, -4)
print(tostring(a + b), tostring(b * 0.5), a == vec(1, 2), a < b, b("y"), a .. b)

local Animal = {}
Animal.__index = Animal
function Animal.new(class, name) return setmetatable({ name = name }, class) end
function Animal:speak() return self.name .. " says " .. self:sound() end
local Dog = setmetatable({}, { __index = Animal })
Dog.__index = Dog
function Dog:sound() return "woof" end
print(Animal.new(Dog, "Rex"):speak())

local defaults = setmetatable({}, {
  __index = function(t, k) local v = #k; rawset(t, k, v); return v end,
  __len = function() return 99 end,
  __close = function() print("closed") end,
})
do
  local scoped <close> = defaults
  print(defaults.abc, rawget(defaults, "abc"), rawget(defaults, "zz"), #scoped)
end

----------------------------------------------------------------------
section("strings")

local text = [[
The Mandelbrot set is the set of complex numbers c for which the function
z -> z^2 + c does not diverge when iterated from z = 0. Benoit Mandelbrot
(1924-2010) drew it in 1980; see also 1905, 1918 and 1978.]]

local words = {}
for word in text:gmatch("%a+") do
  word = word:lower()
  words[word] = (words[word] or 0) + 1
end
local frequent = {}
for _, w in ipairs(sorted_keys(words)) do
  if words[w] > 1 then frequent[#frequent + 1] = w .. "=" .. words[w] end
end
print(table.concat(frequent, " "))

local years = {}
for year in text:gmatch("%f[%d](%d%d%d%d)%f[%D]") do years[#years + 1] = tonumber(year) end
table.sort(years, function(x, y) return x > y end)
print(table.concat(years, ","))

print((text:gsub("%s+", " "):gsub("(%w+) (%w+)", "%2 %1", 3):sub(1, 60)))
print(("$name is $age years old"):gsub("%$(%w+)", { name = "Lua", age = 30 }))
print(("hello world"):gsub("o", function(c) return c:upper() .. c:rep(2) end))
print(("key = value # note"):match("^(%w+)%s*=%s*(%w+)"))
print(("f(a(b)c)d"):match("%b()"), ("  trim me  "):match("^%s*(.-)%s*$") .. "|")
print(("2024-02-29"):find("(%d+)-(%d+)-(%d+)"))
print(string.format("%5d|%-8s|%08.3f|%x|%q|%5.1f%%|%+d|%e|%g|%a", 42, "left", math.pi, 255, 'a "q"\n', 99.5, 7, 12345.678, 1e100, 0.5))
print(string.format("%-20.5s|%10s|%c%c|%i|%o", "truncated", "right", 72, 105, 2^31, 8))
print(("abc"):byte(1, -1), ("x"):rep(5, "-"), ("stressed"):reverse(), #"h\u{E9}\0z")
for p, c in utf8.codes("aé€😀") do io.write(p, ":", c, " ") end
print(utf8.len("aé€😀"), utf8.char(72, 228, 8364))
local packed = string.pack("<i4 d z s2 >I3", -7, 2.5, "zero", "counted", 0x010203)
print(#packed, string.unpack("<i4 d z s2 >I3", packed))

-- A Caesar cipher over a table of characters, run back and forth.
local function caesar(s, k)
  return (s:gsub("%a", function(c)
    local base = c:match("%l") and 97 or 65
    return string.char((c:byte() - base + k) % 26 + base)
  end))
end
local secret = caesar(text, 7)
print(secret:sub(1, 38), caesar(secret, -7) == text)

----------------------------------------------------------------------
section("numbers")

print(1 // 0.0, -7 // 2, -7 % 3, 7.5 // 2, 2 ^ 0.5, 10 / 2, 3 | 4, ~0, 1 << 62, "10" + 5, 0x7fffffffffffffff + 1 == math.mininteger)
print(math.type(1), math.type(1.0), math.tointeger(3.0), 1e15, 2^53, 123456789012, -0.0, 0/0 ~= 0/0)
print(math.floor(-3.5), math.ceil(-3.5), math.fmod(-7, 3), math.ult(1, -1), math.max(3, 9, 4), tostring(3) == "3")
print(string.format("%.14g %.14g %.14g %.14g", math.sin(1), math.cos(2), math.exp(1), math.log(10, 2)))
math.randomseed(42)
local dice = {}
for _ = 1, 6000 do local d = math.random(6); dice[d] = (dice[d] or 0) + 1 end
print("dice", table.concat(dice, " "))

----------------------------------------------------------------------
section("errors")

local function level3(kind)
  if kind == "string" then error("a plain message") end
  if kind == "level" then error("blamed on the caller", 2) end
  if kind == "table" then error({ code = 42 }) end
  if kind == "nil" then local t = nil; return t.field end
  if kind == "arith" then return {} + 1 end
  if kind == "call" then return ("x").missing() end
  if kind == "compare" then return 1 < "2" end
  if kind == "concat" then return "a" .. {} end
  return kind
end
local function level2(kind) local r = level3(kind); return r end
for _, kind in ipairs { "string", "level", "table", "nil", "arith", "call", "compare", "concat", "fine" } do
  local ok, err = pcall(level2, kind)
  print(kind, ok, type(err) == "table" and err.code or err)
end
print(select(2, xpcall(level2, debug.traceback, "string")))
print(pcall(error))
print(select(2, load("x = = 1", "=chunk")))
print(select(2, pcall(string.rep, "x", -1)), select(2, pcall(string.rep)))
local function overflow(n) return 1 + overflow(n + 1) end
local ok, err = pcall(overflow, 1)
print(ok, (err:match("stack overflow")))

----------------------------------------------------------------------
section("coroutines")

local function permutations(list)
  local function generate(n)
    if n == 0 then coroutine.yield(table.concat(list)) end
    for i = 1, n do
      list[n], list[i] = list[i], list[n]
      generate(n - 1)
      list[n], list[i] = list[i], list[n]
    end
  end
  return coroutine.wrap(function() generate(#list) end)
end
local all = {}
for p in permutations { "a", "b", "c", "d" } do all[#all + 1] = p end
print(#all, all[1], all[12], all[24])

local producer = coroutine.create(function(first)
  local got = first
  for i = 1, 3 do got = coroutine.yield(i, got) end
  return "done", got
end)
print(coroutine.resume(producer, "x"))
print(coroutine.resume(producer, "y"))
print(coroutine.status(producer), coroutine.isyieldable(producer))
print(coroutine.resume(producer, "z"))
print(coroutine.resume(producer, "w"))
print(coroutine.resume(producer))
local failing = coroutine.create(function() coroutine.yield(1); error("inside") end)
coroutine.resume(failing)
print(coroutine.resume(failing))
print(coroutine.close(coroutine.create(print)))

-- The sieve of Eratosthenes as a chain of coroutines.
local function numbers_from(n) return coroutine.wrap(function() while true do coroutine.yield(n); n = n + 1 end end) end
local function without_multiples(source, p)
  return coroutine.wrap(function()
    while true do
      local n = source()
      if n % p ~= 0 then coroutine.yield(n) end
    end
  end)
end
local source, primes = numbers_from(2), {}
for i = 1, 60 do
  primes[i] = source()
  source = without_multiples(source, primes[i])
end
print("60th prime", primes[60])

-- A round-robin scheduler; yielding across pcall.
local log = {}
local function task(name, steps)
  return coroutine.create(function()
    for i = 1, steps do
      pcall(function() coroutine.yield(name .. i) end)
    end
  end)
end
local tasks = { task("a", 3), task("b", 1), task("c", 2) }
while #tasks > 0 do
  local t = table.remove(tasks, 1)
  local _, value = coroutine.resume(t)
  if value then log[#log + 1] = value end
  if coroutine.status(t) ~= "dead" then tasks[#tasks + 1] = t end
end
print(table.concat(log, " "))

----------------------------------------------------------------------
section("garbage collection")

local finalized = 0
do
  local weak = setmetatable({}, { __mode = "v" })
  for i = 1, 1000 do
    weak[i] = setmetatable({ i }, { __gc = function() finalized = finalized + 1 end })
  end
  weak.kept = sorted_keys
  collectgarbage()
  collectgarbage()
  local left = 0
  for _ in pairs(weak) do left = left + 1 end
  print("finalized", finalized, "left", left)
end
local before = collectgarbage("count")
local garbage = {}
for i = 1, 200000 do garbage[i % 100] = { i, tostring(i) } end
garbage = nil
collectgarbage("collect")
print("memory returned", collectgarbage("count") < before + 64)
collectgarbage("generational")
local tree
local function build(depth) return depth == 0 and {} or { build(depth - 1), build(depth - 1) } end
local function size(t) return t[1] and 1 + size(t[1]) + size(t[2]) or 1 end
for _ = 1, 8 do tree = build(12) end
print("nodes", size(tree))
collectgarbage("incremental")

----------------------------------------------------------------------
section("tables and sorting")

local n = 20000
local numbers = {}
for i = 1, n do numbers[i] = math.random(1, 1000000) end
local function checksum(t)
  local h = 0
  for i, v in ipairs(t) do h = (h * 31 + v * i) & 0xffffffff end
  return string.format("%08x", h)
end
table.sort(numbers)
local in_order = true
for i = 2, n do in_order = in_order and numbers[i - 1] <= numbers[i] end
print("sorted", in_order, checksum(numbers))
table.sort(numbers, function(x, y) return x % 1000 < y % 1000 or (x % 1000 == y % 1000 and x < y) end)
print("by last digits", checksum(numbers))
print(select(2, pcall(table.sort, { 3, 1, "x" })))
print(table.unpack({ 1, 2, 3 }, 2), #table.pack(nil, nil), table.concat(table.move({ 1, 2, 3 }, 1, 3, 3), ","))
local list = {}
for i = 1, 10 do table.insert(list, 1, i) end
for _ = 1, 4 do table.remove(list, 3) end
print(table.concat(list, " "))

-- The eight queens, and a life of gliders.
local solutions = 0
local function place(row, columns, down, up)
  if row > 8 then solutions = solutions + 1; return end
  for c = 1, 8 do
    if not (columns[c] or down[row + c] or up[row - c]) then
      columns[c], down[row + c], up[row - c] = true, true, true
      place(row + 1, columns, down, up)
      columns[c], down[row + c], up[row - c] = nil, nil, nil
    end
  end
end
place(1, {}, {}, {})
print("eight queens", solutions)

local size_x, size_y, grid = 40, 12, {}
for y = 0, size_y - 1 do grid[y] = {} end
for _, cell in ipairs { { 1, 0 }, { 2, 1 }, { 0, 2 }, { 1, 2 }, { 2, 2 }, { 21, 4 }, { 22, 4 }, { 20, 5 }, { 21, 5 }, { 21, 6 } } do
  grid[cell[2]][cell[1]] = true
end
for _ = 1, 60 do
  local new = {}
  for y = 0, size_y - 1 do
    new[y] = {}
    for x = 0, size_x - 1 do
      local around = 0
      for dy = -1, 1 do
        for dx = -1, 1 do
          if (dx ~= 0 or dy ~= 0) and grid[(y + dy) % size_y][(x + dx) % size_x] then around = around + 1 end
        end
      end
      new[y][x] = around == 3 or (around == 2 and grid[y][x])
    end
  end
  grid = new
end
for y = 0, size_y - 1 do
  local row = {}
  for x = 0, size_x - 1 do row[x + 1] = grid[y][x] and "#" or "." end
  print(table.concat(row))
end

----------------------------------------------------------------------
section("the rest")

local chunk = load("local a, b = ...; return a * b, _ENV.answer", "=loaded", "t", { answer = 42 })
print(chunk(6, 7))
local dumped = load(string.dump(function(x) return x + 1 end))
print(dumped(41))
do
  local i = 0
  ::again::
  i = i + 1
  if i < 5 then goto again end
  print("goto", i)
end
local path = arg[0]:gsub("[^/]*$", "lines.txt")
local file = assert(io.open(path, "w"))
for i = 1, 500 do file:write(string.format("%d %.3f\n", i, i / 7)) end
file:close()
local sum, count = 0, 0
for line in io.lines(path) do
  local i, x = line:match("(%d+) (%S+)")
  sum, count = sum + tonumber(x), count + math.tointeger(tonumber(i))
end
print(count, string.format("%.3f", sum))
file = assert(io.open(path, "r+b"))
print(file:seek("end"), file:seek("set", 10), file:read("n", "l", 5))
file:close()
print(os.remove(path), (io.open(path)))
print(os.time { year = 2024, month = 2, day = 29, hour = 12 } - os.time { year = 2024, month = 2, day = 28, hour = 12 }, os.date("!%Y-%m-%d %H:%M:%S", 1709208000))
print("end")
