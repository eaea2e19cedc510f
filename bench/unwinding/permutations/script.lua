-- Finds the ways in which queens attack none of the others, among permutations that a coroutine gives.
local size = ...

local function permute(a, n)
  if n == 0 then return coroutine.yield(a) end
  for i = 1, n do
    a[i], a[n] = a[n], a[i]
    permute(a, n - 1)
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
  for found in coroutine.wrap(function() permute(a, #a) end) do
    if is_peaceful(found) then
      for i = 1, #found do total = (total * 31 + found[i]) % 1000003 end
    end
  end
end
return tostring(total)
