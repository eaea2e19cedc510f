-- Finds the ways in which queens attack none of the others, among permutations that a function is called with.
local size = ...

local function permute(a, n, visit)
  if n == 0 then return visit(a) end
  for i = 1, n do
    a[i], a[n] = a[n], a[i]
    permute(a, n - 1, visit)
    a[i], a[n] = a[n], a[i]
  end
end

local function is_peaceful(a)
  for i = 2, #a do
    for j = 1, i - 1 do
      local distance = a[i] - a[j]
      if distance == i - j or distance == j - i then return false end
    end
  end
  return true
end

local total = 0
for round = 1, size do
  local a = {}
  for i = 1, 6 do a[i] = (i + round) % 6 + 1 end
  permute(a, #a, function(found)
    if is_peaceful(found) then
      for i = 1, #found do total = (total * 31 + found[i]) % 1000003 end
    end
  end)
end
return tostring(total)
