-- SPDX-License-Identifier: Apache-2.0
-- What the fields mean. The tables used here (HEADERS, NODES) and the constants come before this text: dissector.py
-- makes them from the Scapy layers.

local ub = Proto("ub", "UnifiedBus")
local fields, by_name = {}, {}

local function declare(key, field)
  fields[key] = field
  return field
end

-- Fields as the wire has them.

local UNSIGNED = {
  [1] = ProtoField.uint8, [2] = ProtoField.uint16, [3] = ProtoField.uint24, [4] = ProtoField.uint32, [8] = ProtoField.uint64,
}

for _, header in ipairs(HEADERS) do
  by_name[header.name] = header
  header.key = "ub." .. header.name:lower()
  declare(header.key, ProtoField.none(header.key, header.title))
  for _, field in ipairs(header.fields) do
    field.key = header.key .. "." .. field.name
    local base = field.hex and base.HEX or base.DEC
    declare(field.key, UNSIGNED[field.length](field.key, field.name, base, field.values, field.mask))
    for bit, flag in ipairs(field.flags or {}) do
      local key = field.key .. "." .. flag
      declare(key, ProtoField.bool(key, flag, 8 * field.length, nil, 2 ^ (bit - 1)))
    end
  end
end

-- Fields that follow from others.

local function derived(key, title, kind, ...)
  return declare(key, ProtoField[kind or "string"](key, title, ...))
end

local TAIL_BITS, FLIT_BITS = 5, 5
derived("ub.node", "Node")
derived("ub.cna", "Source or destination CNA", "uint16", base.HEX)
derived("ub.lph.class", "Traffic class")
derived("ub.lph.blocks", "blocks - 1", "uint16", base.DEC, nil, 0x3C00)
derived("ub.lph.flits", "flits of the last block - 1", "uint16", base.DEC, nil, 0x03E0)
derived("ub.lph.tail", "bytes of the last flit - 1", "uint16", base.DEC, nil, 0x001F)
derived("ub.lph.bytes", "Bytes from the LPH to the end", "uint16", base.DEC)
derived("ub.srh.taken", "Hops decided", "uint8", base.DEC)
derived("ub.srh.steered", "Hops steered by an instruction", "uint8", base.DEC)
derived("ub.srh.last", "The switch before")
derived("ub.srh.next", "The next switch")
derived("ub.srh.next.index", "Instruction", "uint8", base.DEC)
derived("ub.srh.next.port", "Egress port", "uint8", base.DEC)
derived("ub.srh.route", "Route")
derived("ub.nth.bucket", "Path bucket", "uint8", base.DEC, nil, 0x0F)
derived("ub.payload", "Payload", "bytes")
derived("ub.payload.elements", "Elements")
derived("ub.padding", "Padding of the carrier", "bytes")

local experts = {}
local function expert_of(key, text, group)
  experts[key] = ProtoExpert.new("ub.expert." .. key, text, group, expert.severity.ERROR)
end
expert_of("length", "Length is wrong", expert.group.MALFORMED)
expert_of("cut", "Header is cut short", expert.group.MALFORMED)
expert_of("cfg", "What follows is unknown", expert.group.PROTOCOL)
expert_of("instructions", "Seventh instruction", expert.group.PROTOCOL)
expert_of("hops", "ptr past 11", expert.group.PROTOCOL)

do
  local listed, wrong = {}, {}
  for _, field in pairs(fields) do listed[#listed + 1] = field end
  for _, one in pairs(experts) do wrong[#wrong + 1] = one end
  ub.fields, ub.experts = listed, wrong
end

-- Says what is wrong with a frame at the field that shows it, and at the end of the info column.
local function complain(frame, item, key, text, ...)
  local said = string.format(text, ...)
  item:add_proto_expert_info(experts[key], said)
  frame.wrong[#frame.wrong + 1] = said
end

local function add_derived(tree, key, range, value)
  local item = tree:add(fields[key], range, value)
  item:set_generated()
  return item
end

local function node(cna)
  return NODES[cna] or string.format("0x%04x", cna)
end

-- What each header says beyond its fields: functions of (frame, its values, its bytes, its tree). `frame` is what the
-- headers before it have left: bytes of the packet, virtual lane, source route, and the words of the info column.

local notes = {}

function notes.LPH(frame, values, range, tree)
  local length = values.length
  local tail = math.floor(length % 2 ^ TAIL_BITS)
  local flits = math.floor(length / 2 ^ TAIL_BITS) % math.floor(2 ^ FLIT_BITS)
  local blocks = math.floor(length / 2 ^ (TAIL_BITS + FLIT_BITS))
  local coded = range(2, 2)
  tree:add(fields["ub.lph.blocks"], coded)
  tree:add(fields["ub.lph.flits"], coded)
  local tail_item = tree:add(fields["ub.lph.tail"], coded)
  if tail >= FLIT_BYTES then
    complain(frame, tail_item, "length", "Last flit of %d bytes: a flit has %d", tail + 1, FLIT_BYTES)
  else
    frame.bytes = (blocks * BLOCK_FLITS + flits) * FLIT_BYTES + tail + 1
    local item = add_derived(tree, "ub.lph.bytes", coded, frame.bytes)
    if frame.bytes > frame.reported then
      complain(frame, item, "length", "Length says %d bytes, the frame has %d", frame.bytes, frame.reported)
    end
  end
  local class = math.floor(values.vl / CLASS_VLS)
  local name = class == 0 and "data" or string.format("data of service level %d", class)
  if class == VL_RESPONSE / CLASS_VLS then name = "responses and management" end
  add_derived(tree, "ub.lph.class", range(0, 2), name)
  frame.vl = values.vl
end

-- Who decides a hop, and by which instruction and port: nil, nil when the tables do.
local function decision(values, hop)
  if values.bitmap_bits[hop] == 0 then return nil end
  local before = 0
  for earlier = 0, hop - 1 do before = before + values.bitmap_bits[earlier] end
  return before, values.instr[before + 1]
end

local function decided_by(values, hop)
  local index, port = decision(values, hop)
  if index == nil then return "the tables" end
  if port == nil then return string.format("instruction %d, which the header does not hold", index) end
  return string.format("instruction %d, port %d", index, port)
end

function notes.SRH(frame, values, range, tree)
  values.bitmap_bits = {}
  local steered, last = 0, -1
  for hop = 0, MAX_HOPS - 1 do
    values.bitmap_bits[hop] = range(0, 2):bitfield(4 + hop, 1)
    steered = steered + values.bitmap_bits[hop]
    if values.bitmap_bits[hop] == 1 then last = hop end
  end
  local ptr_range, bitmap_range = range(0, 1), range(0, 2)
  local taken = add_derived(tree, "ub.srh.taken", ptr_range, values.ptr)
  local asked = add_derived(tree, "ub.srh.steered", bitmap_range, steered)
  if steered > MAX_INSTRUCTIONS then
    complain(frame, asked, "instructions", "Bitmap asks for %d instructions: the header holds %d", steered, MAX_INSTRUCTIONS)
  end
  if values.ptr > 0 and values.ptr <= MAX_HOPS then
    add_derived(tree, "ub.srh.last", range, decided_by(values, values.ptr - 1))
  end
  if values.ptr >= MAX_HOPS then
    complain(frame, taken, "hops", "ptr %d is past %d: the next switch drops it", values.ptr, MAX_HOPS - 1)
  else
    local text = decided_by(values, values.ptr)
    local item = add_derived(tree, "ub.srh.next", range, text)
    local index, port = decision(values, values.ptr)
    if port ~= nil then
      add_derived(item, "ub.srh.next.index", bitmap_range, index)
      add_derived(item, "ub.srh.next.port", range(2 + index, 1), port)
    end
    frame.route = string.format("%d hop%s decided, next by %s", values.ptr, values.ptr == 1 and "" or "s", text)
  end
  local hops = {}
  for hop = 0, math.max(last, math.min(values.ptr, MAX_HOPS - 1)) do
    local _, port = decision(values, hop)
    local word = values.bitmap_bits[hop] == 0 and "tables" or port and "port " .. port or "none"
    hops[#hops + 1] = hop == values.ptr and "[" .. word .. "]" or word
  end
  add_derived(tree, "ub.srh.route", range, table.concat(hops, ", "))
end

function notes.NTH(frame, values, range, tree)
  tree:add(fields["ub.nth.bucket"], range(6, 1))
  for _, cna in ipairs({ values.scna, values.dcna }) do
    tree:add(fields["ub.cna"], range(0, 4), cna):set_hidden(true)
    if NODES[cna] then tree:add(fields["ub.node"], range(0, 4), NODES[cna]):set_hidden(true) end
  end
  frame.trimmed = values.cc == TRIMMED
  frame.ends = node(values.scna) .. " → " .. node(values.dcna)
end

function notes.TPH(frame, values)
  local number = values.opcode == ACK and "of all before psn " .. values.ack_psn or "psn " .. values.psn
  frame.words[#frame.words + 1] = (values.opcode_text or "opcode " .. values.opcode) .. " " .. number
  frame.words[#frame.words + 1] = string.format("queue %d to %d", values.src_q, values.dst_q)
  frame.carries_ip, frame.grants = values.opcode == IPV4, values.opcode == CREDIT
  for _, flag in ipairs(values.flags_set) do frame.words[#frame.words + 1] = flag:gsub("_", " ") end
end

notes.SRH24 = notes.SRH

function notes.NTH24(frame, values, range, tree)
  tree:add(fields["ub.nth.bucket"], range(9, 1))
  for _, cna in ipairs({ values.scna, values.dcna }) do
    if NODES[cna] then tree:add(fields["ub.node"], range(1, 6), NODES[cna]):set_hidden(true) end
  end
  frame.ends = node(values.scna) .. " → " .. node(values.dcna)
end

function notes.RTPH(frame, values)
  local number = values.opcode == SELECTIVE_ACK and "of all before psn " .. values.psn or "psn " .. values.psn
  frame.words[#frame.words + 1] = (values.opcode_text or "opcode " .. values.opcode) .. " " .. number
  frame.words[#frame.words + 1] = string.format("channel %d to %d", values.src_tpn, values.dst_tpn)
  frame.carries_ip, frame.grants = values.nlp == NEXT_IPV4, values.nlp == NEXT_CREDIT
end

function notes.SACK(frame, values, range)
  local later, high, low = 0, range(0, 4):uint(), range(4, 4):uint()
  if frame.grants then
    frame.words[#frame.words + 1] = string.format("%.0f bytes granted", high * 2 ^ 32 + low)
    return
  end
  for _, half in ipairs({ high, low }) do
    while half > 0 do
      later, half = later + half % 2, math.floor(half / 2)
    end
  end
  if later > 0 then frame.words[#frame.words + 1] = string.format("and %d later", later) end
end

function notes.CLH(frame, values, range, tree)
  frame.words[#frame.words + 1] = string.format(
    "%s step %d chunk %d, %d bytes at %d", values.op_text or "op " .. values.op, values.step, values.chunk, values.length, values.offset)
  frame.dtype = values.dtype_text
  local carried = frame.bytes and frame.bytes - frame.offset - range:len()
  if frame.trimmed and carried == 0 then
    frame.words[#frame.words + 1] = "trimmed"
  elseif carried and carried ~= values.length then
    complain(frame, tree, "length", "Collective header says %d bytes, the packet carries %d", values.length, carried)
  end
end

function notes.MOH(frame, values)
  frame.words[#frame.words + 1] = (values.operation_text or "operation " .. values.operation)
    .. (values.status == 0 and "" or ", " .. (values.status_text or "status " .. values.status))
end

function notes.LinkNotice(frame, values)
  local a = string.format("%s port %d", node(values.cna_a), values.port_a)
  local b = string.format("%s port %d", node(values.cna_b), values.port_b)
  local said = values.state_text or "state " .. values.state
  if said:find("hello") then
    frame.words[#frame.words + 1] = string.format("%s of %s to %s", said, a, b)
  elseif said == "watch" then
    frame.words[#frame.words + 1] = string.format("%s watches link %s to %s", node(values.origin), a, b)
  else
    frame.words[#frame.words + 1] = string.format(
      "link %s to %s is %s, notice %d of %s", a, b, said, values.sequence, node(values.origin))
  end
end

-- The walk from header to header.

local function read(header, range, tree)
  local values = {}
  for _, field in ipairs(header.fields) do
    local item
    if field.count then
      local list = {}
      for number = 1, field.count do
        local part = range(field.first + (number - 1) * field.length, field.length)
        item = tree:add(fields[field.key], part)
        item:prepend_text(string.format("%d: ", number - 1))
        list[number] = part:uint()
      end
      values[field.name] = list
    else
      local part = range(field.first, field.length)
      item = tree:add(fields[field.key], part)
      if field.width <= 32 then
        local value = part:bitfield(field.at - 8 * field.first, field.width)
        values[field.name] = value
        if field.values then values[field.name .. "_text"] = field.values[value] end
        if field.address and NODES[value] then item:append_text(" (" .. NODES[value] .. ")") end
      end
      local set = {}
      values[field.name .. "_set"] = set
      for bit, flag in ipairs(field.flags or {}) do
        item:add(fields[field.key .. "." .. flag], part)
        if math.floor(values[field.name] / 2 ^ (bit - 1)) % 2 == 1 then set[#set + 1] = flag end
      end
    end
  end
  return values
end

local function following(header, values)
  for _, one in ipairs(header.following) do
    local holds = true
    for name, value in pairs(one.when) do holds = holds and values[name] == value end
    if holds then return by_name[one.header] end
  end
end

local function elements(range, kind)
  local shown = {}
  for at = 0, math.min(range:len(), 32) - 4, 4 do
    local part = range(at, 4)
    shown[#shown + 1] = kind == "float32" and string.format("%g", part:le_float()) or tostring(part:le_int())
  end
  if range:len() > 32 then shown[#shown + 1] = "..." end
  return table.concat(shown, ", ")
end

-- An IPv4 packet is dissected as on any other link; its own words for the info column follow ours.
local function add_packet(frame, range, pinfo, root)
  Dissector.get("ip"):call(range:tvb(), pinfo, root)
  frame.words[#frame.words + 1] = tostring(pinfo.cols.info)
  pinfo.cols.protocol = "UB"
end

local function add_payload(frame, range, tree)
  local item = tree:add(fields["ub.payload"], range)
  if frame.dtype and range:len() >= 4 then add_derived(item, "ub.payload.elements", range, elements(range, frame.dtype)) end
end

function ub.dissector(buffer, pinfo, root)
  local captured = buffer:captured_len()
  local frame = { offset = 0, reported = buffer:reported_len(), words = {}, wrong = {} }
  local tree = root:add(ub, buffer())
  pinfo.cols.protocol = "UB"
  local header = HEADERS[1]
  while header do
    local left = math.min(captured, frame.bytes or captured) - frame.offset
    if left < header.bytes then
      complain(frame, tree, "cut", "%s is cut short: %d bytes of %d", header.name, math.max(left, 0), header.bytes)
        break
    end
    local range = buffer(frame.offset, header.bytes)
    local branch = tree:add(fields[header.key], range)
    local values = read(header, range, branch)
    if notes[header.name] then
      notes[header.name](frame, values, range, branch)
    else
      frame.words[#frame.words + 1] = header.name
    end
    frame.offset = frame.offset + header.bytes
    local after = following(header, values)
    if header.name == "LPH" and not after then
      complain(frame, branch, "cfg", "cfg %d: no header is known to follow", values.cfg)
    end
    header = after
  end
  local ends = math.min(captured, frame.bytes or captured)
  if frame.offset < ends then
    local rest = buffer(frame.offset, ends - frame.offset)
    if frame.carries_ip then add_packet(frame, rest, pinfo, root) else add_payload(frame, rest, tree) end
  end
  if frame.bytes and frame.bytes < captured then tree:add(fields["ub.padding"], buffer(frame.bytes)) end
  if frame.vl then frame.words[#frame.words + 1] = "VL " .. frame.vl end
  if frame.route then frame.words[#frame.words + 1] = frame.route end
  local about = table.concat(frame.words, ", ")
  if #frame.wrong > 0 then about = about .. " [" .. table.concat(frame.wrong, "; ") .. "]" end
  pinfo.cols.info = frame.ends and frame.ends .. ": " .. about or about
  if frame.ends then tree:append_text(", " .. frame.ends) end
  if frame.bytes then tree:append_text(", " .. frame.bytes .. " bytes") end
  return buffer:len()
end

DissectorTable.get("ethertype"):add(ETHERTYPE, ub)
