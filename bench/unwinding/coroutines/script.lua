local size = ...
local give = coroutine.wrap(function()
  local i = 0
  while true do
    coroutine.yield(i * i % 97)
    i = i + 1
  end
end)
local sum = 0
for _ = 1, size do sum = (sum * 31 + give()) % 1000003 end
return tostring(sum)
