#!/bin/sh
# rustc for the census of shared writes: instruments every load and store of what is built for the
# target. The hooks themselves, and who reads debug information for them, stay as they are.
case " $* " in
*" --crate-name census "* | *" --crate-name backtrace "* | *" --crate-name gimli "* | \
*" --crate-name addr2line "* | *" --crate-name object "* | *" --crate-name miniz_oxide "* | \
*" --crate-name adler2 "* | *" --crate-name memchr "* | *" --crate-name rustc_demangle "* | \
*" --crate-name build_script_"*)
	exec "$@" -Cunsafe-allow-abi-mismatch=sanitizer ;;
*" --crate-name ___ "*)
	exec "$@" ;;
*" --target "*)
	exec "$@" -Zsanitizer=thread -Zexternal-clangrt -Cunsafe-allow-abi-mismatch=sanitizer \
		-Cllvm-args=-tsan-instrument-func-entry-exit=0 ;;
*)
	exec "$@" ;;
esac
