# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Kernels of our own, built in the cache out of Debian's linux-source. Source it
# after lib.sh and kconfig.sh.
#
# own_kernel KIND VARIANT SERIES OPTIONS-FUNCTION: print a directory with a kernel,
# built when it is not there yet:
#   linux, vmlinux      the kernel, as KIND has it
#   release             its version
#   config              its configuration
#   lib/modules/        its modules
#   build               what modules are compiled against
# KIND is `uml` or `qemu`; the function prints the options that are wanted. With
# OWN_KERNEL_CACHED=yes nothing is built, and one that is not there is a failure.

# Raise it when an entry's contents change for the same fragments.
OWN_KERNEL_LAYOUT=1

# What the result depends on, beside the sources' series.
own_kernel_key()
{
	{
		printf '%s\n' "$OWN_KERNEL_LAYOUT"
		"$options"
		gcc --version
	} | sha256sum | cut -c1-12
}

own_kernel_make()
{
	make -C "$source" ARCH="${arch[$kind]}" O="$entry/build" \
		-j"$(nproc)" "$@"
}

own_kernel_configure()
{
	"$options" >"$entry/wanted.config"
	kconfig_make "$entry/build" "$entry/wanted.config" own_kernel_make
	cp "$entry/build/.config" "$entry/config"
}

# Only what a module's build reads is kept of the objects.
own_kernel_drop_objects()
{
	find "$entry/build" -path "$entry/build/scripts" -prune -o \
		\( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name 'vmlinux*' \
		   -o -name linux \) -type f -delete 2>/dev/null || true
}

own_kernel_compile()
{
	local image=${images[$kind]}

	log_run "the kernel's build" own_kernel_make "$image" modules
	log_run "the modules' installation" own_kernel_make \
		INSTALL_MOD_PATH="$entry" modules_install
	cp "$entry/build/vmlinux" "$entry/vmlinux"
	strip -o "$entry/$image.stripped" "$entry/build/$image"
	mv "$entry/$image.stripped" "$entry/$image"
	cat "$entry/build/include/config/kernel.release" >"$entry/release"
	own_kernel_drop_objects
}

own_kernel_entry()
{
	local start=$SECONDS source

	[ ! -e "$entry/complete" ] || return 0
	"$PANE_TOP/selftests/setup/setup.sh" kernel
	source=$("$PANE_TOP/selftests/setup/linux-source.sh" "$series")
	say "kernel: building Linux $series for $kind, variant $variant"
	rm -rf "$entry"
	mkdir -p "$entry/build"
	own_kernel_configure
	own_kernel_compile
	touch "$entry/complete"
	say "kernel: built in $((SECONDS - start)) s"
}

own_kernel()
{
	local kind=$1 variant=$2 series=$3 options=$4 entry
	local -A arch=([uml]=um [qemu]=x86_64)
	local -A images=([uml]=linux [qemu]=vmlinux)

	entry=$PANE_CACHE/$kind/$series-$variant-$(own_kernel_key)
	if [ "${OWN_KERNEL_CACHED:-}" = yes ]; then
		[ -e "$entry/complete" ] || return
	else
		with_lock "$kind-$variant" own_kernel_entry
	fi
	printf '%s\n' "$entry"
}
