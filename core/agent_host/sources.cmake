target_sources(
  refhist_core PRIVATE agent_host/agent_backend.cpp agent_host/agent_backend_code.cpp agent_host/agent_image.cpp agent_host/agent_loader.cpp agent_host/assembler.cpp agent_host/code_lines.cpp agent_host/code_piece.cpp
                       agent_host/debugger_stops.cpp agent_host/detached_process.cpp agent_host/event_drain.cpp agent_host/frame_writer.cpp agent_host/process_layout.cpp agent_host/program_calls.cpp agent_host/record_batch.cpp agent_host/replay.cpp agent_host/rule_table.cpp agent_host/shared_area.cpp agent_host/site_description.cpp agent_host/sole_recorder.cpp
                       agent_host/stopped_process.cpp agent_host/stub_writer.cpp agent_host/symbol_file.cpp agent_host/temporary_file.cpp agent_host/thread_id_place.cpp)
