# Who gave the download away that the main thread still uses?
refhist track GObject
break-on-imbalance

run
backtrace
# At the entry of g_object_unref the object is the first argument.
refhist $rdi
refhist check --fail-on imbalance
