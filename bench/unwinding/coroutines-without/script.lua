local size = ...
local i = -1
local function give()
  i = i + 1
  return i * i % 97
end
local sum = 0
for _ = 1, size do sum = (sum * 31 + give()) % 1000003 end
return tostring(sum)
