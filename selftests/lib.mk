# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Included last by the Makefile of every collection of tests. It offers the
# variables and targets of the kernel's own lib.mk, as far as they are used
# here, so that a collection works in both trees unchanged:
#
#   TEST_PROGS               scripts to run
#   TEST_GEN_PROGS           compiled from NAME.c, to run
#   TEST_CUSTOM_PROGS        built by a rule of the collection's own, to run
#   TEST_PROGS_EXTENDED      scripts that others call, installed only
#   TEST_GEN_PROGS_EXTENDED  the same, compiled
#   TEST_FILES               data, installed
#   TEST_GEN_FILES           data, built by a rule of the collection's own
#   TEST_INCLUDES            files from elsewhere below selftests/, the path kept
#   LOCAL_HDRS               headers that the compiled tests depend on

selfdir := $(realpath $(dir $(filter %/lib.mk,$(MAKEFILE_LIST))))
top_srcdir ?= $(realpath $(selfdir)/..)

OUTPUT ?= $(CURDIR)
# what `emit_tests` and messages call the collection
COLLECTION := $(notdir $(CURDIR))

KHDR_INCLUDES ?= -isystem $(top_srcdir)/include/uapi
CFLAGS += $(USERCFLAGS)
LDFLAGS += $(USERLDFLAGS)
LOCAL_HDRS += $(selfdir)/kselftest.h

TEST_GEN_PROGS := $(addprefix $(OUTPUT)/,$(TEST_GEN_PROGS))
TEST_GEN_PROGS_EXTENDED := $(addprefix $(OUTPUT)/,$(TEST_GEN_PROGS_EXTENDED))
TEST_GEN_FILES := $(addprefix $(OUTPUT)/,$(TEST_GEN_FILES))
BUILT := $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES)
RUN := $(TEST_PROGS) $(notdir $(TEST_GEN_PROGS)) $(TEST_CUSTOM_PROGS)
INSTALLED := $(TEST_PROGS) $(TEST_PROGS_EXTENDED) $(TEST_FILES) \
	     $(wildcard config settings) $(BUILT) \
	     $(addprefix $(OUTPUT)/,$(TEST_CUSTOM_PROGS))

.PHONY: all run_tests install emit_tests clean
.DEFAULT_GOAL := all

all: $(BUILT) $(addprefix $(OUTPUT)/,$(TEST_CUSTOM_PROGS))

$(OUTPUT)/%: %.c $(LOCAL_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(filter %.c %.o %.a,$^) $(LDLIBS) -o $@

# One line a test, as run_kselftest.sh reads it.
emit_tests:
	@for test in $(RUN); do echo "$(COLLECTION):$$test"; done

install: all
	@test -n "$(INSTALL_PATH)" || { echo 'INSTALL_PATH is not set' >&2; exit 1; }
	@mkdir -p $(INSTALL_PATH)
	@$(if $(strip $(INSTALLED)),cp -p $(INSTALLED) $(INSTALL_PATH)/)
	@$(foreach file,$(TEST_INCLUDES),install -D -m 755 $(file) \
		$(INSTALL_PATH)/$(file);)

# In the directory where the tests were built; collections that need root or a
# guest skip or fail here.
run_tests: all
	@$(selfdir)/kselftest/runner.sh $(COLLECTION) $(OUTPUT) \
		$(addprefix $(CURDIR)/,$(TEST_PROGS)) $(TEST_GEN_PROGS) \
		$(addprefix $(OUTPUT)/,$(TEST_CUSTOM_PROGS))

clean:
	rm -f $(BUILT) $(addprefix $(OUTPUT)/,$(TEST_CUSTOM_PROGS)) $(EXTRA_CLEAN)
