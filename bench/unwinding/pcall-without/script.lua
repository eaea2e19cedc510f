local size = ...
local function attempt(i)
  if i % 3 ~= 0 then return i * 7 end
  return nil, i
end
local sum = 0
for i = 1, size do
  local value, failure = attempt(i)
  sum = (sum * 31 + (value or failure)) % 1000003
end
return tostring(sum)
