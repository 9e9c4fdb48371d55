# Which reference does the json-c client forget to give back?
refhist track json_object
break-on-leak

tbreak request_failed
run
# The reply of the first failed request. Its history so far:
refhist reply
set $reply = reply

continue
refhist leaks
refhist $reply
refhist check --fail-on leak
