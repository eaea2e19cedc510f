local size = ...
local function attempt(i)
  if i % 3 ~= 0 then return i * 7 end
  error(i, 0)
end
local sum = 0
for i = 1, size do
  local _, result = pcall(attempt, i)
  sum = (sum * 31 + result) % 1000003
end
return tostring(sum)
