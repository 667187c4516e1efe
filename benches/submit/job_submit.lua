-- SPDX-License-Identifier: GPL-2.0-or-later
-- The classification that Surgent does, as a site would write it: a lone word "urgent", or directives among other words.

local known = {
	urgency = "^[%a]+$", epochs = "^%d+$", epoch = "^[%d./]+$", epoch_s = "^[%d.]+$", at = "^%d+$",
	save = "^%a+$", save_s = "^[%d.]+$", saved = "^%d+$", signal = "^[%w@]+$", priority = "^%d+$",
}

function slurm_job_submit(job, partitions, submit_uid)
	local comment = job.comment
	if comment == nil or comment == "" then
		return slurm.SUCCESS
	end
	local class, directives = nil, 0
	if comment == "urgent" then
		class, directives = "urgent", 1
	end
	for word in string.gmatch(comment, "[^%s,;]+") do
		local key, value = string.match(word, "^([%a_]+)=(.*)$")
		local form = key and known[key]
		if form then
			directives = directives + 1
			if not string.match(value, form) then
				slurm.log_user("%s=%s cannot be meant", key, value)
				return slurm.ERROR
			end
			if key == "urgency" then
				if value ~= "urgent" and value ~= "normal" then
					slurm.log_user("urgency=%s is not known", value)
					return slurm.ERROR
				end
				class = value
			end
		end
	end
	if directives == 0 then
		return slurm.SUCCESS
	end
	job.admin_comment = string.format("surgent{class=%s first=%d}", class or "normal", os.time())
	if class == "urgent" then
		if job.priority ~= 0 then
			job.priority = 4294963200
		end
	else
		job.requeue = 1
	end
	return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, modify_uid)
	return slurm.SUCCESS
end
