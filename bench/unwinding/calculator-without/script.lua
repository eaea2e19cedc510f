-- Computes expressions by recursive descent. One in eight is malformed, which is said by a result that all look at.
local size = ...
local byte = string.byte
local text, at

local sum

local function factor()
  local c = byte(text, at)
  if c == 40 then
    at = at + 1
    local result = sum()
    if not result then return nil end
    if byte(text, at) ~= 41 then return nil end
    at = at + 1
    return result
  end
  if not c or c < 48 or c > 57 then return nil end
  local result = 0
  repeat
    result = result * 10 + (c - 48)
    at = at + 1
    c = byte(text, at)
  until not c or c < 48 or c > 57
  return result
end

local function product()
  local result = factor()
  if not result then return nil end
  while byte(text, at) == 42 do
    at = at + 1
    local operand = factor()
    if not operand then return nil end
    result = result * operand % 1000003
  end
  return result
end

function sum()
  local result = product()
  if not result then return nil end
  while true do
    local c = byte(text, at)
    if c ~= 43 and c ~= 45 then return result end
    at = at + 1
    local operand = product()
    if not operand then return nil end
    result = c == 43 and result + operand or result - operand
  end
end

local texts = {
  "1+2*3", "((4-5)*6+7)*8", "12*34-56", "(9+(8-(7*6)))", "(1+(2*(3-4*))-5)", "100-99*98+97", "(11*(12+13))-14", "5*5*5*5",
}
local total = 0
for i = 1, size do
  text, at = texts[i % 8 + 1], 1
  local result = sum() or at
  total = (total * 31 + result) % 1000003
end
return tostring(total)
