-- Strings, tables, closures and floats: `lua words.lua ROUNDS`.
local rounds = tonumber(arg[1])
local sum = 0
for round = 1, rounds do
  local words = {}
  for i = 1, 2000 do
    words[i] = ("w%d"):format((i * 7919 + round) % 997)
  end
  local seen = {}
  for _, word in ipairs(words) do
    seen[word] = (seen[word] or 0) + 1
  end
  table.sort(words)
  local line = table.concat(words, " ")
  for word, count in pairs(seen) do
    sum = (sum + count * #word) % 1000003
  end
  sum = sum + select(2, line:gsub("w%d5%d?", string.upper))
  local x = 0.5
  for i = 1, 5000 do
    x = 3.7 * x * (1 - x)
  end
  sum = sum + math.floor(x * 1000)
  if round % (rounds // 100 + 1) == 0 then
    io.stderr:write(".\n")
  end
end
print("sum " .. sum)
