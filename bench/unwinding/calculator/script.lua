-- Computes expressions by recursive descent. One in eight is malformed, which is said by error and found by pcall.
local size = ...
local byte = string.byte
local text, at

local function fail() error(at, 0) end

local sum

local function factor()
  local c = byte(text, at)
  if c == 40 then
    at = at + 1
    local result = sum()
    if byte(text, at) ~= 41 then fail() end
    at = at + 1
    return result
  end
  if not c or c < 48 or c > 57 then fail() end
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
  while byte(text, at) == 42 do
    at = at + 1
    result = result * factor() % 1000003
  end
  return result
end

function sum()
  local result = product()
  while true do
    local c = byte(text, at)
    if c ~= 43 and c ~= 45 then return result end
    at = at + 1
    local operand = product()
    result = c == 43 and result + operand or result - operand
  end
end

local texts = {
  "1+2*3", "((4-5)*6+7)*8", "12*34-56", "(9+(8-(7*6)))", "(1+(2*(3-4*))-5)", "100-99*98+97", "(11*(12+13))-14", "5*5*5*5",
}
local total = 0
for i = 1, size do
  text, at = texts[i % 8 + 1], 1
  local _, result = pcall(sum)
  total = (total * 31 + result) % 1000003
end
return tostring(total)
