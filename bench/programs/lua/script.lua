-- A mixed load: closures, objects, tables, sorting, strings and patterns, floats, collection of
-- garbage. It raises no errors and starts no coroutines: the WebAssembly build has no setjmp.
local rounds = ...

local function random(seed)
  local state = seed
  return function(limit)
    state = (state * 1103515245 + 12345) % 2147483648
    return state % limit + 1
  end
end

-- Objects with inheritance through metatables.
local Shape = {}
Shape.__index = Shape
function Shape.new(class, size) return setmetatable({ size = size }, class) end
function Shape:area() return 0 end
local Square = setmetatable({}, { __index = Shape })
Square.__index = Square
function Square:area() return self.size * self.size end
local Circle = setmetatable({}, { __index = Shape })
Circle.__index = Circle
function Circle:area() return 3 * self.size * self.size end

local function shapes(pick)
  local total = 0
  for _ = 1, 400 do
    local shape = Shape.new(pick(2) == 1 and Square or Circle, pick(100))
    total = total + shape:area()
  end
  return total
end

-- Words, patterns and counting in tables with string keys.
local function words(pick)
  local syllables = { "ri", "ver", "run", "stone", "al", "to", "mi", "sand" }
  local text = {}
  for i = 1, 300 do
    text[i] = syllables[pick(8)] .. syllables[pick(8)] .. (pick(3) == 1 and "s" or "")
  end
  local line = table.concat(text, " ")
  local seen, distinct = {}, {}
  for word in line:gmatch("%a+") do
    if not seen[word] then
      seen[word] = 0
      distinct[#distinct + 1] = word
    end
    seen[word] = seen[word] + 1
  end
  table.sort(distinct, function(a, b)
    if seen[a] ~= seen[b] then return seen[a] > seen[b] end
    return a < b
  end)
  local plural = line:gsub("(%a+)s%f[%A]", "%1"):len()
  return ("%s:%d:%d"):format(distinct[1], seen[distinct[1]], plural)
end

-- A permutation sorted, a matrix multiplied, a queue of closures.
local function numbers(pick)
  local list = {}
  for i = 1, 300 do list[i] = pick(10000) end
  table.sort(list)
  local n, a, b, trace = 14, {}, {}, 0.0
  for i = 1, n do
    a[i], b[i] = {}, {}
    for j = 1, n do a[i][j], b[i][j] = pick(9) / 4, pick(9) / 8 end
  end
  for i = 1, n do
    for j = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + a[i][k] * b[k][j] end
      if i == j then trace = trace + sum end
    end
  end
  local queue, result = {}, 0
  for i = 1, 200 do queue[i] = function(x) return x * 31 + list[i] & 0xffffff end end
  for i = 1, #queue do result = queue[i](result) end
  return ("%d:%.6f:%d"):format(list[150], trace, result)
end

local function fibonacci(n)
  if n < 2 then return n end
  return fibonacci(n - 1) + fibonacci(n - 2)
end

local lines = {}
for round = 1, rounds do
  local pick = random(round)
  lines[#lines + 1] = ("%d %s %s %d"):format(shapes(pick), words(pick), numbers(pick), fibonacci(14))
end
return table.concat(lines, "\n")
